/**
 * Promise: the length of a sound is the longest that its bytes can make any decoder play, whatever its headers say; a
 * format whose bytes do not bound that has no bound.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { soundLength } from '../../src/gateway/demand/sound-length.ts';
import { base64Bytes, PieceBytes } from '../../src/platform/byte-source.ts';
import {
  FLAC,
  formatChunk,
  joinBytes,
  MP3_FRAME,
  mp3,
  mpegFrame,
  OPUS_HEAD,
  OPUS_PACKET,
  OPUS_TAGS,
  ogg,
  oggPage,
  SLOWEST_MP3_FRAME,
  u32,
  vorbisHead,
  type WaveFormat,
  wave,
  waveChunk,
  waveOf,
} from '../support/recordings.ts';

const atMost = (bytes: Uint8Array) => soundLength(new PieceBytes([bytes], bytes.length)).atMost;

describe('WAV', () => {
  test.each<[string, WaveFormat]>([
    ['of a telephone', { rate: 8_000, bits: 8 }],
    ['of speech', { rate: 16_000 }],
    ['of a studio', { rate: 96_000, channels: 2, bits: 24 }],
    ['in numbers with a fraction', { format: 3, bits: 32, rate: 48_000 }],
    ['by the law of telephones', { format: 7, bits: 8, rate: 8_000 }],
  ])('%s lasts as long as its samples', (_, format) => {
    expect(atMost(wave(10, format))).toBe(11);
    expect(atMost(wave(9.9, format))).toBe(10);
  });

  test.each<[string, Uint8Array]>([
    ['one sample a second', wave(100, { rate: 1, bits: 8 })],
    ['less than 8,000 samples a second', wave(1, { rate: 7_999 })],
    ['one byte a second', waveOf(formatChunk({ bytesPerSecond: 1 }), waveChunk('data', new Uint8Array(100)))],
    ['many bytes a second', waveOf(formatChunk({ bytesPerSecond: 4e9 }), waveChunk('data', new Uint8Array(100)))],
    ['a frame of other samples', waveOf(formatChunk({ blockAlign: 64 }), waveChunk('data', new Uint8Array(100)))],
    ['samples of less than a byte', wave(10, { bits: 4, channels: 2, rate: 8_000 })],
    ['no channels', wave(10, { channels: 0, blockAlign: 2 })],
    ['more channels than vendors take', wave(10, { channels: 9 })],
    ...[0, 2, 0x11, 0x31, 0x55, 0x161, 0xf1ac, 0xfffe].map((format): [string, Uint8Array] => [
      `the codec ${format}`,
      wave(10, { format }),
    ]),
    [
      'two formats',
      waveOf(formatChunk({ rate: 96_000 }), formatChunk({ rate: 8_000 }), waveChunk('data', new Uint8Array(100))),
    ],
    ['a format behind its samples', waveOf(formatChunk(), waveChunk('data', new Uint8Array(100)), formatChunk())],
    ['two blocks of samples', waveOf(formatChunk(), ...[1, 2].map(() => waveChunk('data', new Uint8Array(100))))],
    ['no samples', waveOf(formatChunk())],
    [
      'silence that takes no bytes',
      waveOf(formatChunk(), waveChunk('slnt', joinBytes(u32(4e9))), waveChunk('data', new Uint8Array(8))),
    ],
    ['a list of silences', waveOf(formatChunk(), waveChunk('LIST', joinBytes('wavlslnt', u32(4), u32(4e9))))],
    ['samples whose length nobody wrote', waveOf(formatChunk(), joinBytes('data', u32(0), new Uint8Array(100)))],
    ['a chunk that leaves the file', waveOf(formatChunk(), waveChunk('LIST', joinBytes('INFO'), 1_000))],
    ['a chunk that is not filled up', waveOf(formatChunk(), joinBytes('junk', u32(1), 'xdata', u32(4), 'abcd'))],
    ['another name of it', joinBytes('RF64', wave(1).subarray(4))],
    [
      'its format elsewhere',
      waveOf(waveChunk('junk', joinBytes('abcd')), formatChunk(), waveChunk('data', new Uint8Array(8))),
    ],
    ['a header that breaks off', wave(1).subarray(0, 30)],
  ])('with %s has no bound', (_, bytes) => {
    expect(atMost(bytes)).toBeNull();
  });

  test('with names beside its samples lasts no longer, and of a writer that did not know the length as long as the file', () => {
    const names = waveChunk('LIST', joinBytes('INFOISFT', u32(5), 'Lavf\0'));
    const samples = new Uint8Array(64_000);
    expect(atMost(waveOf(formatChunk(), names, waveChunk('data', samples), names))).toBe(3);
    expect(atMost(waveOf(formatChunk(), joinBytes('data', u32(0xffffffff), samples)))).toBe(3);
    expect(atMost(waveOf(formatChunk(), joinBytes('data', u32(0x10), samples.fill(0x20))))).toBeNull();
  });
});

describe('MP3', () => {
  test('lasts as long as its frames, which may be slow', () => {
    expect(atMost(mp3(60))).toBe(60);
    expect(atMost(joinBytes(...Array<Uint8Array>(1_000).fill(SLOWEST_MP3_FRAME)))).toBe(72);
  });

  test('may have tags, zeros and a last frame that breaks off', () => {
    const id3 = joinBytes('ID3', [3, 0, 0, 0, 0, 1, 0], new Uint8Array(128).fill(0xff));
    const id3v1 = joinBytes('TAG', new Uint8Array(125));
    const ape = joinBytes('APETAGEX', u32(2_000), u32(40), new Uint8Array(16), new Uint8Array(40));
    const sound = mp3(10);
    for (const bytes of [
      joinBytes(id3, sound),
      joinBytes(id3, id3, new Uint8Array(5_000), sound, id3v1),
      joinBytes(sound, ape, id3v1),
      joinBytes(sound, ape),
      joinBytes(sound, new Uint8Array(10_000)),
      sound.subarray(0, -100),
    ])
      expect(atMost(bytes)).toBe(10);
  });

  test.each<[string, Uint8Array]>([
    ['bytes that are no frame', joinBytes(mp3(1), 'x', mp3(1))],
    ['bytes before its frames', joinBytes('x', mp3(1))],
    ['bytes behind its frames', joinBytes(mp3(1), 'xxxx')],
    ['frames that say no length', mpegFrame(0xfffb0000, 417)],
    ['frames of no bit rate', mpegFrame(0xfffbf000, 417)],
    ['frames of no sample rate', mpegFrame(0xfffb9c00, 417)],
    ['frames of another layer', mpegFrame(0xfffd9000, 417)],
    ['frames of AAC', mpegFrame(0xfff15080, 417)],
    ['frames of two kinds', joinBytes(mp3(1), SLOWEST_MP3_FRAME)],
    ['a tag that leaves the file', joinBytes('ID3', [3, 0, 0, 0x7f, 0x7f, 0x7f, 0x7f], mp3(1))],
    [
      'a tag whose length readers take for different ones',
      joinBytes('ID3', [3, 0, 0, 0, 0, 0, 0x80], new Uint8Array(128), mp3(1)),
    ],
    ['a tag that ends before the file', joinBytes(mp3(1), 'TAG', new Uint8Array(125), mp3(1))],
    ['nothing but zeros', new Uint8Array(1_000)],
    ['nothing but a tag', joinBytes('ID3', [3, 0, 0, 0, 0, 0, 0])],
    ['nothing', new Uint8Array()],
  ])('with %s has no bound', (_, bytes) => {
    expect(atMost(bytes)).toBeNull();
  });
});

describe('Ogg', () => {
  const packets = (count: number, packet: Uint8Array = OPUS_PACKET) => Array<Uint8Array>(count).fill(packet);

  test.each<[string, number, Uint8Array]>([
    ['20 ms', 20, OPUS_PACKET],
    ['60 ms', 60, joinBytes([3 << 3], [1])],
    ['120 ms in two frames', 120, joinBytes([(3 << 3) | 1], [1, 1])],
    ['120 ms in two frames of their own lengths', 120, joinBytes([(3 << 3) | 2], [1, 1, 1])],
    ['2.5 ms', 2.5, joinBytes([28 << 3], [1])],
    ['10 ms of both', 10, joinBytes([12 << 3], [1])],
    ['48 frames of 2.5 ms', 120, joinBytes([(28 << 3) | 3, 48], [1])],
    ['more than 120 ms, which no decoder plays', 120, joinBytes([(3 << 3) | 3, 63], [1])],
  ])('with packets of Opus of %s lasts as long as they do, whatever its positions say', (_, ms, packet) => {
    const whole = atMost(ogg(OPUS_HEAD, [OPUS_TAGS, ...packets(1_000, packet)])) ?? 0;
    // The two packets of the head count as sound.
    expect(whole).toBeGreaterThanOrEqual(ms);
    expect(whole).toBeLessThanOrEqual(ms + 1);
  });

  test('without a beginning of a packet counts the longest of it', () => {
    const head = oggPage({ flags: 2, body: OPUS_HEAD });
    const long = new Uint8Array(510).fill(31 << 3);
    const halves = [
      oggPage({ segments: [255], body: long.subarray(0, 255) }),
      oggPage({ flags: 1, segments: [255, 0], body: long.subarray(0, 255) }),
    ];
    const pages = Array<Uint8Array[]>(100).fill(halves).flat();
    expect(atMost(joinBytes(head, ...pages))).toBe(13);
    // Some decoders take each of them for a packet of its own.
    const broken = Array<Uint8Array>(100).fill(halves[0] ?? head);
    expect(atMost(joinBytes(head, ...broken))).toBe(13);
  });

  test('with packets of Vorbis counts half the longer block for each', () => {
    const bytes = ogg(vorbisHead(44_100, 0xb8), packets(1_000, joinBytes([0])));
    expect(atMost(bytes)).toBe(Math.ceil((1_001 * 1_024) / 44_100));
    expect(atMost(ogg(vorbisHead(8_000, 0x8d), packets(1_000, joinBytes([0]))))).toBe(
      Math.ceil((1_001 * 4_096) / 8_000),
    );
  });

  test('with several streams, one after another or at once, counts all of them', () => {
    const one = ogg(OPUS_HEAD, packets(500));
    const other = ogg(vorbisHead(44_100, 0xb8), packets(500, joinBytes([0])));
    expect(atMost(joinBytes(one, one))).toBe(21);
    expect(atMost(joinBytes(one, other))).toBe(Math.ceil(10.02 + (501 * 1_024) / 44_100));
  });

  test.each<[string, Uint8Array]>([
    ['a codec that is not known', ogg(joinBytes([0x7f], 'FLAC', new Uint8Array(40)), packets(10))],
    [
      'another stream besides',
      joinBytes(ogg(OPUS_HEAD, packets(10)), oggPage({ serial: 2, flags: 2, body: joinBytes('fishead\0') })),
    ],
    ['a stream that never begins', oggPage({ body: OPUS_PACKET })],
    [
      'a page with another checksum',
      joinBytes(ogg(OPUS_HEAD, packets(10)), oggPage({ body: OPUS_PACKET, checksum: 1 })),
    ],
    ['a page that breaks off', ogg(OPUS_HEAD, packets(10)).subarray(0, -1)],
    ['bytes between pages', joinBytes(ogg(OPUS_HEAD, packets(10)), 'x', oggPage({ body: OPUS_PACKET }))],
    ['a rate of Vorbis of one', ogg(vorbisHead(1, 0xb8), packets(10))],
    ['a head of Vorbis that breaks off', ogg(vorbisHead(44_100, 0xb8).subarray(0, 20), packets(10))],
  ])('with %s has no bound', (_, bytes) => {
    expect(atMost(bytes)).toBeNull();
  });

  test('of more pages than can be read has no bound', () => {
    const page = oggPage({ body: joinBytes([31 << 3]) });
    const pages = (count: number) =>
      joinBytes(oggPage({ flags: 2, body: OPUS_HEAD }), ...Array<Uint8Array>(count - 1).fill(page));
    expect([atMost(pages(100_000)), atMost(pages(100_001))]).toEqual([expect.any(Number), null]);
  });
});

describe('WAV whose samples are another sound', () => {
  /** A frame that begins so, of this length. */
  const frame = (start: readonly number[], length: number) => joinBytes(start, new Uint8Array(length - start.length));
  const FRAMES: readonly [string, Uint8Array][] = [
    ['MP3', SLOWEST_MP3_FRAME],
    ['AAC', frame([0xff, 0xf1, 0x6c, 0x40, 0x02, 0x00, 0xfc], 16)],
    ['AAC in LATM', frame([0x56, 0xe0, 0x0d], 16)],
    ['AC-3', frame([0x0b, 0x77, 0, 0, 0x00, 0x40], 128)],
    ['AC-3 in the other order', frame([0x77, 0x0b, 0, 0, 0x40, 0x00], 128)],
    ['E-AC-3', frame([0x0b, 0x77, 0x00, 0x1f, 0x00, 0x80], 64)],
    ['DTS', frame([0x7f, 0xfe, 0x80, 0x01], 100)],
    ['DTS in 14 bits', frame([0xff, 0x1f, 0x00, 0xe8, 0xf1, 0x07], 100)],
    ['DTS in 14 bits of the other order', frame([0x1f, 0xff, 0xe8, 0x00, 0x07, 0xf1], 100)],
    ['TrueHD', frame([0xf8, 0x72, 0x6f, 0xba], 100)],
  ];
  const inWave = (...samples: readonly Uint8Array[]) =>
    atMost(waveOf(formatChunk(), waveChunk('data', joinBytes(...samples))));

  test.each(FRAMES)('%s has no bound, wherever it begins', (_, one) => {
    const hidden = Array<Uint8Array>(8).fill(one);
    expect(inWave(...hidden.slice(0, 4))).toBeNull();
    for (const before of [2, 65_500, 65_502, 65_534]) expect(inWave(new Uint8Array(before), ...hidden)).toBeNull();
    expect(inWave(one, new Uint8Array(1_000), one)).toBe(1);
  });

  test('has a bound if it is noise, a tone or silence', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 3, 20, 50, 200, 2_000, 32_000),
        fc.nat(),
        fc.constantFrom(0, 0.05, 1.3),
        (loud, seed, step) => {
          let state = seed;
          const samples = Int16Array.from({ length: 300_000 }, (_, at) => {
            state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
            return loud * (step === 0 ? (state >>> 8) / 2 ** 23 - 1 : Math.sin(at * step));
          });
          expect(inWave(new Uint8Array(samples.buffer))).toBe(19);
        },
      ),
      { numRuns: 60 },
    );
  });
});

test.each<[string, Uint8Array]>([
  ['FLAC', FLAC],
  ['MP4', joinBytes(u32(0x1c000000), 'ftypM4A ', new Uint8Array(900))],
  ['WebM', joinBytes([0x1a, 0x45, 0xdf, 0xa3], new Uint8Array(900))],
  ['AMR', joinBytes('#!AMR\n', new Uint8Array(900).fill(0x7c))],
  ['AIFF', joinBytes('FORM', u32(900), 'AIFF', new Uint8Array(900))],
  ['CAF', joinBytes('caff', new Uint8Array(900))],
  ['text', joinBytes('hello')],
])('%s has no bound', (_, bytes) => {
  expect(atMost(bytes)).toBeNull();
});

test('whatever the bytes are, no header makes a sound longer than a second for each of its slowest bytes', () => {
  const parts = fc.oneof(
    fc.constantFrom(MP3_FRAME, SLOWEST_MP3_FRAME, wave(0.01), FLAC, OPUS_PACKET, ogg(OPUS_HEAD, [OPUS_PACKET])),
    fc.constantFrom(formatChunk(), waveChunk('data', new Uint8Array(9)), joinBytes('ID3', [3, 0, 0, 0, 0, 0, 4])),
    fc.uint8Array({ maxLength: 40 }),
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 12 }), (some) => {
      const bytes = joinBytes(...some);
      // In Ogg, a page with a packet of 120 ms for each segment of a byte.
      const perByte = bytes[0] === 0x4f ? 0.12 : 1 / 1_000;
      expect(atMost(bytes) ?? 0).toBeLessThanOrEqual(Math.ceil(bytes.length * perByte + 0.2));
    }),
  );
});

test('a sound is as long in pieces and in base64 as in one piece', () => {
  const sounds = fc.constantFrom(
    wave(2),
    joinBytes('ID3', [3, 0, 0, 0, 0, 0, 0], mp3(2)),
    ogg(OPUS_HEAD, Array(200).fill(OPUS_PACKET)),
    FLAC,
  );
  fc.assert(
    fc.property(sounds, fc.array(fc.nat(70_000), { maxLength: 20 }), (bytes, cuts) => {
      const ends = [...cuts.map((cut) => cut % bytes.length), bytes.length].sort((a, b) => a - b);
      const pieces = ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
      const whole = soundLength(new PieceBytes([bytes], bytes.length));
      expect(soundLength(new PieceBytes(pieces, bytes.length))).toEqual(whole);
      const inBase64 = base64Bytes(`x:${Buffer.from(bytes).toString('base64')}`, 2);
      expect(inBase64 && soundLength(inBase64)).toEqual(whole);
    }),
  );
});

test('base64 that readers take for different bytes is not read', () => {
  const sound = Buffer.from(wave(1)).toString('base64');
  expect(base64Bytes(sound, 0)).not.toBeNull();
  for (const text of [
    `${sound}=`,
    `${sound.slice(0, 8)}\n${sound.slice(8, -1)}`,
    `AA==${sound}`,
    sound.slice(0, -1),
    `-${sound.slice(1)}`,
  ])
    expect(base64Bytes(text, 0)).toBeNull();
});
