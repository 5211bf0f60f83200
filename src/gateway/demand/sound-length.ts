/**
 * The longest that a sound can be for any decoder, as far as its bytes bound that. A header counts only if decoders
 * obey it, and only if every byte of the file is accounted for: a decoder that skipped some of them could find another
 * sound there. The names of files and media types prove nothing.
 *
 * - WAV (RIFF, uncompressed): its bytes, by a size of samples and a rate that one header names, at least 8,000 a
 *   second, if no other sound hides in them (hidden-frames.ts).
 * - MP3 (MPEG audio, layer III): its frames, each with the length that its header has. Nothing but frames, tags and
 *   zeros.
 * - Ogg (RFC 3533) with Opus or Vorbis: its packets, by checked pages. A packet of Opus says how long it is (RFC 6716),
 *   at most 120 ms; one of Vorbis lasts half the longer block. What pages say of positions counts for nothing.
 *
 * In all other formats (FLAC, MP4 and M4A, WebM, AAC, AMR, AIFF, CAF) silence takes next to no bytes, or their own
 * tables say how long it lasts: `null`. No library: those that parse recordings tell what headers claim.
 */
import type { ByteSource } from '../../platform/byte-source.ts';
import { hidesFrames } from './hidden-frames.ts';
import { type MpegFrame, mpegFrame } from './mpeg-frame.ts';

/** How long a sound is, in seconds. */
export interface SoundLength {
  /** `null` if its bytes do not bound it. */
  atMost: number | null;
  estimate: number;
}

/** An ordinary recording has 64 kbit/s. */
export const USUAL_BYTES_PER_SECOND = 8_000;
/** The lowest rate of telephones; no vendor documents a lower one. */
const SAMPLES_PER_SECOND_MIN = 8_000;

export function soundLength(bytes: ByteSource): SoundLength {
  const seconds = boundedSeconds(bytes);
  if (seconds === null) return { atMost: null, estimate: Math.ceil(bytes.length / USUAL_BYTES_PER_SECOND) };
  const whole = Math.ceil(seconds);
  return { atMost: whole, estimate: whole };
}

function boundedSeconds(bytes: ByteSource): number | null {
  switch (textAt(bytes, 0, 4)) {
    case 'RIFF':
      return waveSeconds(bytes);
    case 'OggS':
      return oggSeconds(bytes);
    default:
      return mpegSeconds(bytes);
  }
}

function textAt(bytes: ByteSource, at: number, length: number): string {
  return String.fromCharCode(...bytes.read(at, length));
}

function viewBytes(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const CHUNK_HEAD = 8;
const FORMAT_BYTES = 16;
/** A list of samples and silences, and a silence that takes no bytes. */
const SILENT_CHUNKS = ['wavl', 'slnt'];
/** Chunks before and behind the samples. */
const CHUNKS_MAX = 1_000;

function waveSeconds(bytes: ByteSource): number | null {
  const first = bytes.read(12, CHUNK_HEAD + FORMAT_BYTES);
  if (first.length < CHUNK_HEAD + FORMAT_BYTES || textAt(bytes, 8, 8) !== 'WAVEfmt ') return null;
  const bytesPerSecond = pcmBytesPerSecond(bytes);
  const samples = plainSamples(bytes);
  if (bytesPerSecond === null || samples === null || hidesFrames(bytes, samples)) return null;
  return bytes.length / bytesPerSecond;
}

/** The formats whose samples take their full bytes: PCM (1), numbers with a fraction (3), A-law (6), mu-law (7). */
const PLAIN_FORMATS = [1, 3, 6, 7];
const EXTENSIBLE = 0xfffe;
/** The bytes that follow the number of such a format in its GUID. */
const FORMAT_GUID = '\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71';
const BITS_MAX = 64;
const CHANNELS_MAX = 8;

function pcmBytesPerSecond(bytes: ByteSource): number | null {
  const size = viewBytes(bytes.read(16, 4)).getUint32(0, true);
  const view = viewBytes(bytes.read(20, size >= 40 ? 40 : FORMAT_BYTES));
  if (size < FORMAT_BYTES || view.byteLength < Math.min(size, FORMAT_BYTES)) return null;
  const named = view.getUint16(0, true);
  const isExtensible = named === EXTENSIBLE && view.byteLength === 40 && textAt(bytes, 46, 14) === FORMAT_GUID;
  const format = isExtensible ? view.getUint16(24, true) : named;
  const channels = view.getUint16(2, true);
  const rate = view.getUint32(4, true);
  const frame = view.getUint16(12, true);
  const bits = view.getUint16(14, true);
  // Readers use different ones of these figures.
  const isConsistent =
    bits >= 8 && bits <= BITS_MAX && frame === (channels * bits) / 8 && view.getUint32(8, true) === rate * frame;
  if (!PLAIN_FORMATS.includes(format) || channels === 0 || channels > CHANNELS_MAX || !isConsistent) return null;
  return rate < SAMPLES_PER_SECOND_MIN ? null : rate * frame;
}

/**
 * The beginning of the samples; `null` unless the file has one format, one block of samples, and nothing around it that
 * lasts.
 */
function plainSamples(bytes: ByteSource): number | null {
  let at = 12;
  let samples: number | null = null;
  for (let count = 0; at + CHUNK_HEAD <= bytes.length; count += 1) {
    const name = textAt(bytes, at, 4);
    const size = viewBytes(bytes.read(at + 4, 4)).getUint32(0, true);
    const isAgain = (name === 'fmt ' && at > 12) || (name === 'data' && samples !== null);
    if (count === CHUNKS_MAX || isAgain || !/^[ -~]{4}$/.test(name)) return null;
    const list = name === 'LIST' ? textAt(bytes, at + CHUNK_HEAD, 4) : name;
    if (SILENT_CHUNKS.includes(list)) return null;
    const next = at + CHUNK_HEAD + size;
    if (name === 'data') {
      samples = at + CHUNK_HEAD;
      // A writer that did not know the length wrote 0, and readers disagree on its meaning.
      if (size === 0 && next < bytes.length) return null;
    } else if (next > bytes.length) return null;
    // An odd chunk is padded; a reader that does not know that would read on elsewhere.
    if (size % 2 === 1 && next < bytes.length && bytes.read(next, 1)[0] !== 0) return null;
    at = next + (size % 2);
  }
  return samples;
}

const FRAME_HEAD = 4;

/** The seconds of a sound that consists only of frames, tags and zeros. */
function mpegSeconds(bytes: ByteSource): number | null {
  let at = leadingTags(bytes);
  let samples = 0;
  let first: MpegFrame | null = null;
  while (at !== null && at < bytes.length) {
    const head = bytes.read(at, FRAME_HEAD);
    const frame = head.length < FRAME_HEAD ? null : mpegFrame(viewBytes(head).getUint32(0));
    if (frame === null) {
      at = afterFiller(bytes, at);
      continue;
    }
    first ??= frame;
    if (frame.kind !== first.kind) return null;
    samples += frame.samples;
    at += frame.length;
  }
  return at === null || first === null ? null : samples / first.rate;
}

const ID3_HEAD = 10;
const ID3_FOOTER = 0x10;

/** The end of the tags before a sound (ID3v2); `null` if a tag claims to be longer than the file. */
function leadingTags(bytes: ByteSource): number | null {
  let at = 0;
  while (textAt(bytes, at, 3) === 'ID3') {
    const head = bytes.read(at, ID3_HEAD);
    const size = head.subarray(6);
    if (head.length < ID3_HEAD || size.some((byte) => byte > 0x7f)) return null;
    const length = size.reduce((sum, byte) => sum * 128 + byte, 0);
    at += ID3_HEAD + length + (((head[5] ?? 0) & ID3_FOOTER) === 0 ? 0 : ID3_HEAD);
    if (at > bytes.length) return null;
  }
  return at;
}

const ID3V1_BYTES = 128;
const APE_HEAD = 32;
const FILLER_STEP = 4_096;

/** The end of the filler that begins here: zeros, or a tag at the end of the file. `null` if it is neither. */
function afterFiller(bytes: ByteSource, at: number): number | null {
  if (textAt(bytes, at, 3) === 'TAG' && at + ID3V1_BYTES === bytes.length) return bytes.length;
  if (textAt(bytes, at, 8) === 'APETAGEX') {
    const head = bytes.read(at, APE_HEAD);
    // The length without its own head, which comes first.
    const end = head.length < APE_HEAD ? 0 : at + APE_HEAD + viewBytes(head).getUint32(12, true);
    return end === bytes.length || end + ID3V1_BYTES === bytes.length ? end : null;
  }
  let end = at;
  while (end < bytes.length) {
    const step = bytes.read(end, FILLER_STEP);
    const other = step.findIndex((byte) => byte !== 0);
    if (other >= 0) return end + other > at ? end + other : null;
    end += step.length;
  }
  return end;
}

const PAGE_HEAD = 27;
/** More than a day in pages of a second. */
const PAGES_MAX = 100_000;
const CONTINUED = 1;
const BEGINS = 2;
const SEGMENT_MAX = 255;
/** The longest packet of Opus (RFC 6716, section 3.2.5). */
const OPUS_SECONDS_MAX = 0.12;
const VORBIS_HEAD = 30;

interface OggStream {
  /** The seconds of a packet with this beginning; without a beginning, those of the longest packet. */
  packetSeconds: (packet?: Uint8Array) => number;
  /** Its last page ended within a packet. */
  isOpen: boolean;
}

/** The seconds of all packets of all streams: a decoder plays one of several streams, or one after another. */
function oggSeconds(bytes: ByteSource): number | null {
  const streams = new Map<number, OggStream>();
  let seconds = 0;
  for (let at = 0, pages = 1; at < bytes.length; pages += 1) {
    const page = pages > PAGES_MAX ? null : pageAt(bytes, at);
    if (page === null) return null;
    const { flags, serial, segments, body } = page;
    const before = streams.get(serial);
    const begun = (flags & BEGINS) === 0 ? before : readOggStream(body);
    if (!begun) return null;
    streams.set(serial, begun);
    // A decoder may play an unfinished packet.
    if (before?.isOpen && (flags & (BEGINS | CONTINUED)) !== CONTINUED) seconds += before.packetSeconds();
    let start = 0;
    let length = 0;
    // A packet that does not begin in this page has an unknown length.
    let isKnown = !begun.isOpen && (flags & CONTINUED) === 0;
    for (const segment of segments) {
      length += segment;
      if (segment === SEGMENT_MAX) continue;
      seconds += begun.packetSeconds(isKnown ? body.subarray(start, start + length) : undefined);
      start += length;
      length = 0;
      isKnown = true;
    }
    begun.isOpen = segments.at(-1) === SEGMENT_MAX;
    at += PAGE_HEAD + segments.length + body.length;
  }
  for (const { isOpen, packetSeconds } of streams.values()) if (isOpen) seconds += packetSeconds();
  return seconds;
}

/** A whole page with the right checksum: a decoder searches a broken page for others. */
function pageAt(bytes: ByteSource, at: number) {
  const head = bytes.read(at, PAGE_HEAD);
  if (head.length < PAGE_HEAD || textAt(bytes, at, 5) !== 'OggS\0') return null;
  const view = viewBytes(head);
  const segments = bytes.read(at + PAGE_HEAD, head[26] ?? 0);
  const size = segments.reduce((sum, segment) => sum + segment, 0);
  const body = bytes.read(at + PAGE_HEAD + segments.length, size);
  if (segments.length !== head[26] || body.length !== size) return null;
  const counted = head.slice();
  counted.fill(0, 22, 26);
  const checksum = oggChecksum(oggChecksum(oggChecksum(0, counted), segments), body);
  if (checksum !== view.getUint32(22, true)) return null;
  return { flags: head[5] ?? 0, serial: view.getUint32(14, true), segments, body };
}

const CHECKSUMS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte << 24;
  for (let bit = 0; bit < 8; bit += 1) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  return sum;
});

function oggChecksum(before: number, bytes: Uint8Array): number {
  let sum = before;
  for (const byte of bytes) sum = (sum << 8) ^ (CHECKSUMS[((sum >>> 24) ^ byte) & 0xff] ?? 0);
  return sum >>> 0;
}

/** The stream that a page begins; `null` if it is neither Opus nor Vorbis. */
function readOggStream(body: Uint8Array): OggStream | null {
  const head = String.fromCharCode(...body.subarray(0, 8));
  if (head === 'OpusHead') return { packetSeconds: opusSeconds, isOpen: false };
  if (!head.startsWith('\x01vorbis') || body.length < VORBIS_HEAD) return null;
  const view = viewBytes(body);
  const rate = view.getUint32(12, true);
  if (view.getUint32(7, true) !== 0 || rate < SAMPLES_PER_SECOND_MIN) return null;
  const blocks = view.getUint8(28);
  const longer = 2 ** Math.max(blocks & 15, blocks >>> 4);
  return { packetSeconds: () => longer / 2 / rate, isOpen: false };
}

/** Milliseconds of a frame by its configuration: for speech, for both, and for music (RFC 6716, table 2). */
const SPEECH_FRAMES = [10, 20, 40, 60];
const MUSIC_FRAMES = [2.5, 5, 10, 20];

function opusSeconds(packet?: Uint8Array): number {
  const [toc, second] = packet ?? [];
  // Some decoders make up a packet in place of an empty one.
  if (toc === undefined) return OPUS_SECONDS_MAX;
  const config = toc >>> 3;
  const frame = (config < 12 ? SPEECH_FRAMES : config < 16 ? [10, 20, 10, 20] : MUSIC_FRAMES)[config & 3] ?? 60;
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (second ?? 0) & 63;
  return Math.min(OPUS_SECONDS_MAX, (frame * frames) / 1_000);
}
