/**
 * The ids of calls that were begun without a key of the caller's. Such an id names the object of its customer, so that an
 * end finds the object without a look-up, and tells when the call began:
 *
 *   dk-{object}.{request}        a request that is a call of its own
 *   dk-{object}.{hash}.{time}    a call whose key is the hash of its request
 *   dk-{object}.s{hash}.{time}   a call under a key of a browser's session
 *
 * Object, request (a UUID of version 7) and hash are in base64url, and the time is in base 36. Lines of a batch that
 * cannot be read have a name in place of the UUID. Earlier releases wrote all parts in hexadecimal with hyphens between
 * them; those ids are still read.
 */
import { DERIVED_PREFIX } from '../contract/calls.ts';
import { asCallId, type CallId } from '../domain/ids.ts';
import { toBase64Url } from '../platform/base64.ts';
import { timeOfId } from '../platform/time-ordered-id.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Characters of base64url: of an object's id, of a UUID. */
const OBJECT_LENGTH = 43;
const UUID_LENGTH = 22;
/** A UUID of version 7 begins with its milliseconds, in 6 bytes, which are 8 characters of base64url. */
const TIME_LENGTH = 8;
/** The last time that there is (ECMA-262, 21.4.1.1). */
const LAST_TIME_MS = 8_640_000_000_000_000;

const FORM = new RegExp(
  `^${DERIVED_PREFIX}(?<object>[\\w-]{43})\\.(?:(?<session>s?)[\\w-]{22}\\.(?<time>[0-9a-z]{1,11})|(?<request>[\\w-]+))$`,
);
const EARLIER_FORM = new RegExp(
  `^${DERIVED_PREFIX}(?<object>[0-9a-f]{64})-(?:(?<session>s?)[0-9a-f]{32}-(?<time>[0-9a-z]{1,11})|(?<request>[\\w-]+))$`,
);

/** The id of a call that its request alone makes. `name`: the request's UUID, or another name that no other call has. */
export function requestCallId(objectId: string, name: string): CallId {
  return asCallId(`${start(objectId)}.${UUID.test(name) ? shorten(name.replaceAll('-', '')) : name}`);
}

/** The id of a call under a derived key: 32 hexadecimal digits, after an `s` if it is that of a session's key. */
export function keyCallId(objectId: string, key: string, generation: number): CallId {
  const session = key.startsWith('s') ? 's' : '';
  return asCallId(`${start(objectId)}.${session}${shorten(key.slice(session.length))}.${generation.toString(36)}`);
}

const start = (objectId: string) => `${DERIVED_PREFIX}${shorten(objectId)}`;
const shorten = (hex: string) => toBase64Url(Uint8Array.fromHex(hex));

/** What a derived call id tells. */
interface DerivedCallId {
  /** In hexadecimal, as the runtime takes it. There may be no such object. */
  objectId: string;
  /** When the id was made; `null` if it has no time, or none that can be. */
  madeAtMs: number | null;
  /** The key is the hash of the request, so another request with the same content has it too. */
  isOfPayload: boolean;
}

/** `null` for an id of any other form. */
export function readDerivedCallId(callId: CallId): DerivedCallId | null {
  const parts = (FORM.exec(callId) ?? EARLIER_FORM.exec(callId))?.groups;
  if (parts?.object === undefined) return null;
  const { object, session, time, request = '' } = parts;
  const madeAtMs = time === undefined ? requestTime(request) : Number.parseInt(time, 36);
  return {
    objectId: object.length === OBJECT_LENGTH ? lengthen(object) : object,
    madeAtMs: madeAtMs !== null && madeAtMs <= LAST_TIME_MS ? madeAtMs : null,
    isOfPayload: session === '',
  };
}

function requestTime(request: string): number | null {
  if (UUID.test(request)) return timeOfId(request);
  return request.length === UUID_LENGTH ? Number.parseInt(lengthen(request.slice(0, TIME_LENGTH)), 16) : null;
}

const lengthen = (text: string) => Uint8Array.fromBase64(text, { alphabet: 'base64url' }).toHex();
