/**
 * The begins of calls that wait, for their turn in this isolate and then for their customers' objects: how many may wait,
 * and how long the oldest has waited. One more is refused before it claims or records anything.
 *
 * The vendor's request after it does not count. Ends, increments and hand-overs neither wait here nor are refused.
 */
import { refuse } from '../contract/errors.ts';
import type { CustomerKey } from '../domain/ids.ts';
import { BoundedMap } from '../platform/bounded-map.ts';
import { remember } from '../platform/isolate-memory.ts';
import { MINUTE_MS } from '../platform/time.ts';
import { AdaptiveLimit, type LimitBounds } from './adaptive-limit.ts';
import { callsUnderWay } from './calls-under-way.ts';
import { Turns } from './turns.ts';

/** Begins that wait for their turn. That nearly all of them wait has no other reason than too much work. */
const FOR_TURN: LimitBounds = { waitingMax: 2_048, waitingAlways: 16, lateMs: 50 };
/** Begins that wait for objects, and those of them that wait for one. */
const FOR_OBJECTS: LimitBounds = { waitingMax: 2_048, waitingAlways: 64, lateMs: 250 };
const FOR_OBJECT: LimitBounds = { ...FOR_OBJECTS, waitingMax: 1_024 };
/** The most objects whose usual delay an isolate remembers. */
const OBJECTS_MAX = 10_000;
const RETRY_SECONDS = 1;
/** What so many vendors answer is read in a few turns of the event loop, however many begins start meanwhile. */
const READ_IN_TIME = 64;

/** The least delay of begins at an object in this minute and the one before it. */
class UsualDelay {
  #minute = Number.NaN;
  #leastMs = Number.POSITIVE_INFINITY;
  #leastBeforeMs = Number.POSITIVE_INFINITY;

  /** Returns by how much the delay exceeds the usual one; 0 if it is the first. */
  note(delayMs: number, nowMs: number): number {
    const minute = Math.floor(nowMs / MINUTE_MS);
    if (minute !== this.#minute) {
      this.#leastBeforeMs = this.#leastMs;
      this.#leastMs = Number.POSITIVE_INFINITY;
      this.#minute = minute;
    }
    this.#leastMs = Math.min(this.#leastMs, delayMs);
    return delayMs - Math.min(this.#leastMs, this.#leastBeforeMs);
  }
}

interface ObjectQueue {
  limit: AdaptiveLimit;
  usual: UsualDelay;
}

const queue = remember(() => ({
  turns: new Turns({ now: Date.now, wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)) }),
  /** Limits the begins that wait for their turn. */
  line: new AdaptiveLimit(FOR_TURN),
  limit: new AdaptiveLimit(FOR_OBJECTS),
  objects: new BoundedMap<string, ObjectQueue>(OBJECTS_MAX),
  /** When each begin that waits began to, the oldest first. */
  sinceMs: new Map<symbol, number>(),
  refusedAtMs: null as number | null,
}));

/** Makes an object's part of a begin, and measures its delay. */
type Timed = <Result>(ofObject: () => PromiseLike<Result>) => Promise<Result>;

/**
 * Waits for the turn of a request that begins a call, before it is read: `null` then; or at once the refusal if too many
 * wait in this isolate.
 */
export async function admitBegin(): Promise<ReturnType<typeof refused> | null> {
  const { turns, line, limit, sinceMs } = queue.value;
  const startedMs = Date.now();
  if (!line.hasRoom(startedMs) || !limit.hasRoom(startedMs)) return refused(startedMs);
  const waiting = Symbol();
  sinceMs.set(waiting, startedMs);
  line.enter();
  try {
    if (callsUnderWay() > READ_IN_TIME) await turns.next();
    return null;
  } finally {
    const nowMs = Date.now();
    line.noteDelay(nowMs - startedMs, nowMs);
    line.leave();
    sinceMs.delete(waiting);
  }
}

/** Makes a begin that waits for its customer's object; refuses it if too many wait, in this isolate or for the object. */
export async function inBeginQueue<Result>(
  { organizationId, customerId }: CustomerKey,
  begin: (timed: Timed) => Promise<Result>,
): Promise<Result | ReturnType<typeof refused>> {
  const { limit, objects, sinceMs } = queue.value;
  const name = `${organizationId}:${customerId}`;
  const known = objects.get(name);
  const object = known ?? { limit: new AdaptiveLimit(FOR_OBJECT), usual: new UsualDelay() };
  if (!known) objects.set(name, object);
  const startedMs = Date.now();
  if (!limit.hasRoom(startedMs) || !object.limit.hasRoom(startedMs)) return refused(startedMs);
  const waiting = Symbol();
  sinceMs.set(waiting, startedMs);
  limit.enter();
  object.limit.enter();
  try {
    return await begin(async (ofObject) => {
      const sentMs = Date.now();
      const result = await ofObject();
      const nowMs = Date.now();
      const beyondUsualMs = object.usual.note(nowMs - sentMs, nowMs);
      limit.noteDelay(beyondUsualMs, nowMs);
      object.limit.noteDelay(beyondUsualMs, nowMs);
      return result;
    });
  } finally {
    sinceMs.delete(waiting);
    limit.leave();
    object.limit.leave();
  }
}

function refused(nowMs: number) {
  queue.value.refusedAtMs = nowMs;
  const message = 'more calls begin than can be served for the moment; nothing was recorded, so send this one again';
  return refuse('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** The begins that wait in this isolate. */
export interface BeginQueue {
  waiting: number;
  /** How long the oldest has waited; `null` if none waits. */
  oldestMs: number | null;
  /** When one was refused last. */
  refusedAtMs: number | null;
}

export function beginQueue(nowMs: number): BeginQueue {
  const { sinceMs, refusedAtMs } = queue.value;
  const [oldestMs] = sinceMs.values();
  return {
    waiting: sinceMs.size,
    oldestMs: oldestMs === undefined ? null : nowMs - oldestMs,
    refusedAtMs,
  };
}
