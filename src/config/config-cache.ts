/**
 * Configuration in isolate memory, for a bounded time.
 *
 * A value may be used until `ttlMs` after the moment before its read began. A change is acknowledged only after that
 * time has passed, so once it is acknowledged nobody uses the old value. In the second half of its life a value is read
 * anew in the background, so that requests for busy keys never wait for a read. While the source fails, the last value
 * read stays in use, so that metering goes on while D1 is away: up to `UNCHANGED_MAX_MS` if another source says that it
 * has not changed, up to `UNCONFIRMED_MAX_MS` if nobody can say so, and no longer if it has changed.
 */
import { BoundedMap } from '../platform/bounded-map.ts';
import { HOUR_MS, MINUTE_MS } from '../platform/time.ts';
import { withTimeout } from '../platform/timeout.ts';

/** A missing value is remembered for less time, so that a new one works soon. */
const MISSING_TTL_MS = 1_000;
/** How long a value may be used while its source fails, and nobody can say whether it has changed. */
const UNCONFIRMED_MAX_MS = 10 * MINUTE_MS;
/** The same if another source says that it has not changed. */
const UNCHANGED_MAX_MS = HOUR_MS;
/** After a failure the source is not asked again for this long. */
const RETRY_MS = 1_000;
/** A source that does not answer counts as failed. */
const READ_TIMEOUT_MS = 3_000;

interface Entry<Value> {
  value: Value | null;
  readAtMs: number;
  /** The time of the last failed read after which this value could still be used. */
  failedAtMs?: number;
  /** No background read before this. */
  refreshAtMs: number;
}

export class ConfigCache<Value> {
  readonly #entries: BoundedMap<string, Entry<Value>>;

  constructor(entriesMax: number) {
    this.#entries = new BoundedMap(entriesMax);
  }

  /**
   * The value of `key`, from memory or through `load`. `defer` keeps a background read alive beyond the request. While
   * `load` fails, `hasChanged` says from another source whether the value has changed since its read, or throws. If
   * memory has no usable value, it throws the error of `load`.
   */
  async get(
    key: string,
    ttlMs: number,
    load: () => Promise<Value | null>,
    defer: (work: Promise<unknown>) => void,
    hasChanged?: (value: Value, readAtMs: number) => Promise<boolean>,
  ): Promise<Value | null> {
    const entry = this.#entries.get(key);
    const nowMs = Date.now();
    if (entry && nowMs - entry.readAtMs < entryTtlMs(entry, ttlMs)) {
      if (nowMs >= entry.refreshAtMs) {
        entry.refreshAtMs = nowMs + RETRY_MS;
        defer(this.#read(key, ttlMs, load).catch(() => undefined));
      }
      return entry.value;
    }
    if (entry?.failedAtMs !== undefined && nowMs - entry.failedAtMs < RETRY_MS) return entry.value;
    try {
      return await this.#read(key, ttlMs, load);
    } catch (error) {
      if (!entry || !(await mayStay(entry, hasChanged))) throw error;
      entry.failedAtMs = Date.now();
      return entry.value;
    }
  }

  /** The value of `key` from memory, if it does not need a background read either; `null` otherwise. */
  fresh(key: string, nowMs: number): Value | null {
    const entry = this.#entries.get(key);
    return entry && nowMs < entry.refreshAtMs ? entry.value : null;
  }

  async #read(key: string, ttlMs: number, load: () => Promise<Value | null>): Promise<Value | null> {
    const readAtMs = Date.now();
    const value = await withTimeout(load(), READ_TIMEOUT_MS, 'the configuration');
    const newer = this.#entries.get(key);
    if (!newer || newer.readAtMs <= readAtMs) {
      this.#entries.delete(key);
      this.#entries.set(key, { value, readAtMs, refreshAtMs: readAtMs + ttlMs / 2 });
    }
    return value;
  }
}

/** Whether a value that its source does not confirm may be used. */
async function mayStay<Value>(
  { value, readAtMs }: Entry<Value>,
  hasChanged?: (value: Value, readAtMs: number) => Promise<boolean>,
): Promise<boolean> {
  const ageMs = Date.now() - readAtMs;
  if (value === null || ageMs >= UNCHANGED_MAX_MS) return false;
  try {
    if (hasChanged) return !(await hasChanged(value, readAtMs));
  } catch {
    // Then nobody can say.
  }
  return ageMs < UNCONFIRMED_MAX_MS;
}

function entryTtlMs(entry: Entry<unknown>, ttlMs: number): number {
  return entry.value === null ? Math.min(ttlMs, MISSING_TTL_MS) : ttlMs;
}
