/**
 * SHA-256 of bytes that come in parts (FIPS 180-4), whose state can be stored: interrupted work continues with its
 * hash. The runtime hashes bytes that are present as a whole (`hash.ts`).
 */
import { fromBase64Url, toBase64Url } from './base64.ts';

const BLOCK_BYTES = 64;

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND_CONSTANTS = Uint32Array.from([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
]);

const START = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19] as const;

const rotate = (word: number, bits: number) => (word >>> bits) | (word << (32 - bits));

export class Sha256 {
  readonly #words = Uint32Array.from(START);
  readonly #schedule = new Uint32Array(64);
  /** Bytes that do not fill a block yet. */
  readonly #block = new Uint8Array(BLOCK_BYTES);
  #length = 0;

  /** A value that `state` returned; `null` if the text is not one. */
  static from(state: string): Sha256 | null {
    const bytes = fromBase64Url(state);
    if (!bytes || bytes.length < 40 || bytes.length >= 40 + BLOCK_BYTES) return null;
    const view = new DataView(bytes.buffer);
    const hash = new Sha256();
    hash.#words.forEach((_, index) => {
      hash.#words[index] = view.getUint32(index * 4);
    });
    hash.#length = view.getFloat64(32);
    hash.#block.set(bytes.subarray(40));
    return hash.#length % BLOCK_BYTES === bytes.length - 40 ? hash : null;
  }

  state(): string {
    const rest = this.#length % BLOCK_BYTES;
    const bytes = new Uint8Array(40 + rest);
    const view = new DataView(bytes.buffer);
    this.#words.forEach((word, index) => {
      view.setUint32(index * 4, word);
    });
    view.setFloat64(32, this.#length);
    bytes.set(this.#block.subarray(0, rest), 40);
    return toBase64Url(bytes);
  }

  update(bytes: Uint8Array): void {
    let from = 0;
    const rest = this.#length % BLOCK_BYTES;
    this.#length += bytes.length;
    if (rest > 0) {
      from = Math.min(BLOCK_BYTES - rest, bytes.length);
      this.#block.set(bytes.subarray(0, from), rest);
      if (rest + from < BLOCK_BYTES) return;
      this.#compress(this.#block, 0);
    }
    for (; from + BLOCK_BYTES <= bytes.length; from += BLOCK_BYTES) this.#compress(bytes, from);
    this.#block.set(bytes.subarray(from));
  }

  /** The hash in hexadecimal. Nothing can be added any more. */
  digest(): string {
    const rest = this.#length % BLOCK_BYTES;
    const padding = new Uint8Array((rest < 56 ? 56 : 120) - rest + 8);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(this.#length / 2 ** 29));
    view.setUint32(padding.length - 4, (this.#length << 3) >>> 0);
    this.update(padding);
    return [...this.#words].map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  #compress(bytes: Uint8Array, from: number): void {
    const w = this.#schedule;
    for (let t = 0, at = from; t < 16; t += 1, at += 4)
      w[t] =
        (byteAt(bytes, at) << 24) |
        (byteAt(bytes, at + 1) << 16) |
        (byteAt(bytes, at + 2) << 8) |
        byteAt(bytes, at + 3);
    for (let t = 16; t < 64; t += 1) {
      const [early, late] = [w[t - 15] as number, w[t - 2] as number];
      const s0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
      const s1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
      w[t] = (w[t - 16] as number) + s0 + (w[t - 7] as number) + s1;
    }
    const words = this.#words;
    let [a, b, c, d] = [words[0] as number, words[1] as number, words[2] as number, words[3] as number];
    let [e, f, g, h] = [words[4] as number, words[5] as number, words[6] as number, words[7] as number];
    for (let t = 0; t < 64; t += 1) {
      const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUND_CONSTANTS[t] as number) + (w[t] as number)) | 0;
      const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((value, index) => {
      words[index] = (words[index] as number) + value;
    });
  }
}

const byteAt = (bytes: Uint8Array, index: number) => bytes[index] as number;
