/**
 * Whether a decoder could take the samples of a WAV file for another sound: FFmpeg, which vendors use, looks for frames
 * of other codecs in 16-bit samples (`request_probe` in libavformat/wavdec.c) and then plays those. One second of
 * silence in AAC has 70 bytes.
 *
 * A codec is found by frames, each of which says where the next one begins, or by marks that samples do not contain by
 * chance.
 */
import type { ByteSource } from '../../platform/byte-source.ts';
import { mpegFrame } from './mpeg-frame.ts';

/**
 * The number of frames or marks that identify a codec. FFmpeg needs as many marks, as many frames at the beginning, and
 * a hundred frames elsewhere.
 */
const MARKS_MIN = 4;
const FRAMES_FIRST = 3;
const FRAMES_ELSEWHERE = 8;
const BLOCK_BYTES = 64 * 1024;
const HEAD_BYTES = 8;

/** DTS, its extension, and TrueHD. */
const MARKS: ReadonlySet<number> = new Set([0x7ffe8001, 0xfe7f0180, 0x64582025, 0xf8726fba]);
/** The first bytes of the marks, and of the frames below. */
const FIRST = Uint8Array.from({ length: 256 }, (_, byte) =>
  [0xff, 0x0b, 0x77, 0x56, 0x7f, 0xfe, 0x1f, 0x64, 0xf8].includes(byte) ? 1 : 0,
);

/** The samples begin at `from`. */
export function hidesFrames(bytes: ByteSource, from: number): boolean {
  let marks = 0;
  for (let block = from; block < bytes.length; block += BLOCK_BYTES) {
    const read = bytes.read(block, BLOCK_BYTES + HEAD_BYTES);
    const view = new DataView(read.buffer, read.byteOffset, read.byteLength);
    const end = Math.min(BLOCK_BYTES, read.length - HEAD_BYTES);
    for (let at = 0; at < end; at += 1) {
      if (FIRST[read[at] as number] === 0) continue;
      const [first, second] = [view.getUint32(at), view.getUint32(at + 4)];
      // Marks are searched for only at whole samples.
      if ((block + at - from) % 2 === 0 && isMark(first, second)) marks += 1;
      const length = frameLength(first, second);
      const frames = block + at === from ? FRAMES_FIRST : FRAMES_ELSEWHERE;
      if (marks === MARKS_MIN || (length > 0 && isFollowed(bytes, block + at + length, frames))) return true;
    }
  }
  return false;
}

function isMark(first: number, second: number): boolean {
  // DTS in words of 14 bits. Its first word can also be a soft sound.
  if (first === 0x1fffe800) return (second & 0xfff00000) >>> 0 === 0x07f00000;
  if (first === 0xff1f00e8) return (second & 0xf0ff0000) >>> 0 === 0xf0070000;
  return MARKS.has(first);
}

/** Whether that many frames follow one another, including the one before. */
function isFollowed(bytes: ByteSource, from: number, count: number): boolean {
  let at = from;
  for (let frames = 1; frames < count; frames += 1) {
    const head = bytes.read(at, HEAD_BYTES);
    if (head.length < HEAD_BYTES) return false;
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
    const length = frameLength(view.getUint32(0), view.getUint32(4));
    if (length === 0) return false;
    at += length;
  }
  return true;
}

/** The length of the frame that begins with these eight bytes; 0 if they begin no frame. */
function frameLength(first: number, second: number): number {
  const sync = first >>> 16;
  // AAC (ADTS): no layer, and an existing sample rate.
  if ((sync & 0xfff6) === 0xfff0 && ((first >>> 10) & 15) < 13) {
    const length = ((first & 3) << 11) | (second >>> 21);
    return length < 7 ? 0 : length;
  }
  // AAC in LATM.
  if (sync >>> 5 === 0x2b7) return 3 + ((first >>> 8) & 0x1fff);
  if (sync === 0x0b77) return dolbyLength(first, second);
  // The two bytes of a word may be swapped.
  if (sync === 0x770b) return dolbyLength(swapped(first), swapped(second));
  return sync >>> 5 === 0x7ff ? (mpegFrame(first)?.length ?? 0) : 0;
}

function swapped(word: number): number {
  return (((word & 0x00ff00ff) << 8) | ((word >>> 8) & 0x00ff00ff)) >>> 0;
}

const DOLBY_KILOBITS = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640];
const DOLBY_RATES = [48, 44.1, 32];

/** AC-3, by its table of lengths, or E-AC-3, which states its length. */
function dolbyLength(first: number, second: number): number {
  const version = (second >>> 19) & 31;
  if (version > 16) return 0;
  if (version > 10) return 2 * ((first & 0x7ff) + 1);
  const code = (second >>> 24) & 0xff;
  const [rate, kilobits] = [DOLBY_RATES[code >>> 6], DOLBY_KILOBITS[(code & 63) >>> 1]];
  if (rate === undefined || kilobits === undefined) return 0;
  const words = Math.floor((kilobits * 96) / rate);
  return 2 * (words + (rate === 44.1 ? code & 1 : 0));
}
