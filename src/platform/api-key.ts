/**
 * The form of an API key: a prefix, 37 random characters of base64url (222 bits), and six that are a checksum of both.
 *
 * The checksum is no protection, because anybody can compute it. It rejects most malformed keys without a query. Older
 * keys have 43 random characters and no checksum.
 */
import { toBase64Url } from './base64.ts';

const RANDOM_CHARACTERS = 37;
/** Enough for the characters: each holds six bits. */
const RANDOM_BYTES = 28;
const CHECKSUM_CHARACTERS = 6;
const BITS_PER_CHARACTER = 6;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const CRC_32_POLYNOMIAL = 0xedb88320;

export function createApiKey(prefix: string): string {
  const random = toBase64Url(crypto.getRandomValues(new Uint8Array(RANDOM_BYTES))).slice(0, RANDOM_CHARACTERS);
  return prefix + random + computeChecksum(prefix + random);
}

export function hasChecksum(key: string): boolean {
  return key.endsWith(computeChecksum(key.slice(0, -CHECKSUM_CHARACTERS)));
}

/** CRC-32, the highest bits first. */
function computeChecksum(text: string): string {
  const crc = crc32(text);
  let checksum = '';
  for (let shift = BITS_PER_CHARACTER * (CHECKSUM_CHARACTERS - 1); shift >= 0; shift -= BITS_PER_CHARACTER) {
    checksum += ALPHABET[(crc >>> shift) & (ALPHABET.length - 1)];
  }
  return checksum;
}

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let at = 0; at < text.length; at += 1) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ CRC_32_POLYNOMIAL : crc >>> 1;
  }
  return ~crc >>> 0;
}
