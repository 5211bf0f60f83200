/**
 * The size of an image in pixels, read from the beginning of its bytes: PNG, JPEG and WebP.
 *
 * `null` if it cannot be read with certainty. The bytes come from strangers: every read is bounded, and the largest
 * size counts if an image names several.
 */

export interface ImageSize {
  width: number;
  height: number;
}

/** The part of an image that is decoded. The size of a JPEG stands behind its metadata. */
const HEAD_BYTES = 96 * 1_024;
const PNG_SIGNATURE = 0x89504e47;

/** `base64` may begin with a `data:` prefix. */
export function imageSize(base64: string): ImageSize | null {
  const bytes = decodeHead(base64);
  if (bytes === null || bytes.byteLength < 30) return null;
  const view = new DataView(bytes.buffer);
  const size = pngSize(view) ?? webpSize(view) ?? jpegSize(view);
  return size !== null && size.width > 0 && size.height > 0 ? size : null;
}

function decodeHead(base64: string): Uint8Array<ArrayBuffer> | null {
  const from = base64.startsWith('data:') ? base64.indexOf(',', 0) + 1 : 0;
  const head = base64.slice(from, from + (HEAD_BYTES / 3) * 4);
  // A text whose length is not a multiple of four is the end of the image, without its padding.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(head)) return null;
  try {
    return Uint8Array.from(atob(head), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

/** The first chunk is the header. */
function pngSize(view: DataView): ImageSize | null {
  if (view.getUint32(0) !== PNG_SIGNATURE || view.getUint32(12) !== 0x49484452) return null;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** The extended form names the size of the canvas, in which the image must fit. */
function webpSize(view: DataView): ImageSize | null {
  if (view.getUint32(0) !== 0x52494646 || view.getUint32(8) !== 0x57454250) return null;
  const form = view.getUint32(12);
  if (form === 0x56503858) return { width: uint24(view, 24) + 1, height: uint24(view, 27) + 1 };
  if (form === 0x5650384c) {
    const packed = view.getUint32(21, true);
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
  }
  if (form !== 0x56503820) return null;
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
}

function uint24(view: DataView, at: number): number {
  return view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
}

/** The frames before the first scan. If the head has no scan, another frame may follow that it does not show. */
function jpegSize(view: DataView): ImageSize | null {
  if (view.getUint16(0) !== 0xffd8) return null;
  const size: ImageSize = { width: 0, height: 0 };
  let at = 2;
  while (at + 9 < view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1);
    if (marker === 0xda) return size;
    if (hasNoLength(marker)) return null;
    if (isFrame(marker)) {
      const frame = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
      // A height of 0 is defined behind the scan.
      if (frame.height === 0) return null;
      size.width = Math.max(size.width, frame.width);
      size.height = Math.max(size.height, frame.height);
    }
    at += 2 + (marker === 0xff ? -1 : view.getUint16(at + 2));
  }
  return null;
}

/** Start of frame; the markers between them are tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** Markers that do not belong before a scan. */
function hasNoLength(marker: number): boolean {
  return marker <= 0x01 || (marker >= 0xd0 && marker <= 0xd9);
}
