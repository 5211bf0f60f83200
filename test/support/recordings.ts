/**
 * Recordings in the form of encoders, and their parts, so that tests can make false ones.
 */

type Bytes = Uint8Array<ArrayBuffer>;

export function joinBytes(...parts: readonly (string | Uint8Array | readonly number[])[]): Bytes {
  const pieces = parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part)));
  return new Uint8Array(Buffer.concat(pieces));
}

const u16 = (value: number) => [value & 0xff, (value >>> 8) & 0xff];
export const u32 = (value: number) => [...u16(value), ...u16(value >>> 16)];

export interface WaveFormat {
  format?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  blockAlign?: number;
  bytesPerSecond?: number;
}

export function waveChunk(name: string, content: Uint8Array, size = content.length): Bytes {
  return joinBytes(name, u32(size), content, content.length % 2 === 1 ? [0] : []);
}

export function formatChunk({
  format = 1,
  channels = 1,
  rate = 16_000,
  bits = 16,
  blockAlign = (channels * bits) / 8,
  bytesPerSecond = rate * blockAlign,
}: WaveFormat = {}): Bytes {
  const fields = [...u16(format), ...u16(channels), ...u32(rate), ...u32(bytesPerSecond)];
  return waveChunk('fmt ', joinBytes(fields, u16(blockAlign), u16(bits)));
}

export function waveOf(...chunks: readonly Uint8Array[]): Bytes {
  const size = chunks.reduce((sum, { length }) => sum + length, 4);
  return joinBytes('RIFF', u32(size), 'WAVE', ...chunks);
}

/** So many seconds of a plain WAV file. */
export function wave(seconds: number, of: WaveFormat = {}): Bytes {
  const format = formatChunk(of);
  const bytesPerSecond = new DataView(format.buffer).getUint32(16, true);
  return waveOf(format, waveChunk('data', new Uint8Array(Math.round(seconds * bytesPerSecond))));
}

/** A frame of MP3 with this header and this length. */
export function mpegFrame(header: number, length: number): Bytes {
  const frame = new Uint8Array(length);
  new DataView(frame.buffer).setUint32(0, header);
  return frame;
}

/** MPEG-1, 128 kbit/s, 44,100 samples a second: 1,152 samples in 417 bytes. */
export const MP3_FRAME = mpegFrame(0xfffb9000, 417);
/** MPEG-2.5, 8 kbit/s, 8,000 samples a second: 72 ms in 72 bytes. */
export const SLOWEST_MP3_FRAME = mpegFrame(0xffe31800, 72);

export function mp3(seconds: number): Bytes {
  return joinBytes(...Array<Uint8Array>(Math.floor((seconds * 44_100) / 1_152)).fill(MP3_FRAME));
}

export interface OggPage {
  serial?: number;
  flags?: number;
  granule?: number;
  /** The length of each segment. */
  segments?: readonly number[];
  body: Uint8Array;
  checksum?: number;
}

export function oggPage({ serial = 1, flags = 0, granule = 0, segments, body, checksum }: OggPage): Bytes {
  const lacing = segments ?? lacingOf([body]);
  const page = joinBytes(
    'OggS',
    [0, flags],
    u32(granule),
    u32(0),
    u32(serial),
    u32(0),
    u32(0),
    [lacing.length],
    lacing,
    body,
  );
  new DataView(page.buffer).setUint32(22, checksum ?? checksumOf(page), true);
  return page;
}

function lacingOf(packets: readonly Uint8Array[]): number[] {
  return packets.flatMap(({ length }) => [...Array<number>(Math.floor(length / 255)).fill(255), length % 255]);
}

/** As RFC 3533 has it, bit by bit. */
function checksumOf(bytes: Uint8Array): number {
  let sum = 0n;
  for (const byte of bytes) {
    sum ^= BigInt(byte) << 24n;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1n) ^ (sum >> 31n === 1n ? 0x104c11db7n : 0n);
  }
  return Number(sum);
}

export const OPUS_HEAD = joinBytes('OpusHead', [1, 1], u16(312), u32(48_000), [0, 0, 0]);
export const OPUS_TAGS = joinBytes('OpusTags', u32(4), 'test', u32(0));
/** 20 ms of music in one frame. */
export const OPUS_PACKET = joinBytes([31 << 3], new Uint8Array(60));

export function vorbisHead(rate: number, blocks: number): Bytes {
  return joinBytes([1], 'vorbis', u32(0), [1], u32(rate), u32(0), u32(0), u32(0), [blocks, 1]);
}

/** A stream of one packet to begin with and others of sound, so many in a page. */
export function ogg(head: Uint8Array, packets: readonly Uint8Array[], perPage = 50): Bytes {
  const pages = [oggPage({ flags: 2, body: head })];
  for (let at = 0; at < packets.length; at += perPage) {
    const some = packets.slice(at, at + perPage);
    pages.push(oggPage({ segments: lacingOf(some), body: joinBytes(...some), granule: 0x7fffffff }));
  }
  return joinBytes(...pages);
}

/** The beginning of a FLAC file that says that it lasts ten hours. */
export const FLAC = joinBytes('fLaC', [0x80, 0, 0, 34], new Uint8Array(34), new Uint8Array(900));
