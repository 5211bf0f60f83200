/**
 * The frames of MPEG audio (ISO 11172-3 and 13818-3, and "2.5" for lower rates), layer III, by their headers.
 */

/** Kilobits a second by the index in a frame's header, of MPEG-1 and of the two versions below. */
const BITRATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const BITRATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const SAMPLE_RATES = [44_100, 48_000, 32_000];

export interface MpegFrame {
  length: number;
  samples: number;
  rate: number;
  /** The properties that all frames of a sound share. */
  kind: number;
}

/**
 * Read from the first four bytes. `null` if they begin no frame of layer III, or if the header does not state the
 * length.
 */
export function mpegFrame(word: number): MpegFrame | null {
  const version = (word >>> 19) & 3;
  const bitrate = (version === 3 ? BITRATES_1 : BITRATES_2)[(word >>> 12) & 15] ?? 0;
  const fullRate = SAMPLE_RATES[(word >>> 10) & 3];
  const isLayer3 = ((word >>> 17) & 3) === 1;
  if (word >>> 21 !== 0x7ff || version === 1 || !isLayer3 || bitrate === 0 || fullRate === undefined) return null;
  const rate = fullRate / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const samples = version === 3 ? 1_152 : 576;
  const padding = (word >>> 9) & 1;
  return {
    length: Math.floor((samples * bitrate * 125) / rate) + padding,
    samples,
    rate,
    kind: (word >>> 17) * 4 + ((word >>> 10) & 3),
  };
}
