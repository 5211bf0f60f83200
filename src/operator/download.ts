/**
 * Downloads a JSON file by its address, bounded in bytes, values and time: a larger one would take the isolate's
 * memory.
 */
import { readBounded } from '../platform/bytes.ts';
import { parseJson } from '../platform/json.ts';

/** The timeout of the answer, and again of its body. */
const DOWNLOAD_TIMEOUT_MS = 30_000;
/** Both are several times the size of the largest price list. */
const DOWNLOAD_BYTES_MAX = 10 * 1024 * 1024;
const BOUNDS = { valuesMax: 500_000, levelsMax: 100 };

export type Downloaded = { ok: true; value: unknown } | { ok: false; why: string };

const BROKEN = {
  syntax: 'it is not JSON',
  values: `it has more than ${BOUNDS.valuesMax} JSON values`,
  levels: `it nests deeper than ${BOUNDS.levelsMax} levels`,
} as const;

/** `why` describes the problem of the file, without its address. */
export async function downloadJson(address: string | URL): Promise<Downloaded> {
  try {
    const response = await fetch(address, {
      signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS),
      headers: { Accept: 'application/json' },
    });
    if (!response.ok) {
      await response.body?.cancel();
      return failed(`it answered ${response.status}`);
    }
    const bytes = await readBounded(
      response.body as ReadableStream<Uint8Array> | null,
      DOWNLOAD_BYTES_MAX,
      DOWNLOAD_TIMEOUT_MS,
    );
    if (bytes === null) return failed(`it has more than ${DOWNLOAD_BYTES_MAX} bytes`);
    const json = parseJson(bytes, BOUNDS);
    if (json.ok) return json;
    return failed(BROKEN[json.broken]);
  } catch (error) {
    return failed(
      error instanceof Error && error.name === 'TimeoutError'
        ? `it did not answer within ${DOWNLOAD_TIMEOUT_MS / 1000} seconds`
        : 'it cannot be reached',
    );
  }
}

function failed(why: string): Downloaded {
  return { ok: false, why };
}
