/**
 * A form passes to the vendor in one pass during its upload, and is checked on its way.
 *
 * Only checked bytes pass, and none after a broken rule: the vendor never gets the end of a refused form, so it keeps
 * nothing of it. Only the part that was read last, and the content that the check holds, are in memory.
 *
 * The length of a form that changes on its way is known only at its end, so forms are sent without a length. OpenAI
 * accepts that: its SDK sends a file from disk in the same way (openai 7.55.0, `internal/uploads.js`).
 */

import type { Caller } from '../metering/caller.ts';
import { DRAIN_BYTES_MAX, drain, joined, readParts } from '../platform/bytes.ts';
import { FormScanner, parseBoundary, type UploadedForm } from '../platform/multipart.ts';
import type { GatewayAnswer } from './answer.ts';
import { type GatewayRefusal, type Refused, refusalAnswer, refuseCall } from './error-envelope.ts';
import { accessVendor, noVendor, passOn } from './pass-through.ts';

/** Pieces up to this length are sent together: a write takes longer than their copy. */
const WRITE_BYTES_MAX = 256 * 1024;

/** Checks a form while it arrives, and returns the part that may pass. */
export interface FormCheck {
  /** The bytes that may pass after these were read: views of their memory, and bytes held before. */
  push(bytes: Uint8Array): Promise<CheckedPart>;
  /** Called after the last bytes. */
  end(): Refused | null;
}

export type CheckedPart = { ok: true; passed: Uint8Array[] } | Refused;

/** The destination of a form, and its check. */
interface PassedForm {
  /** The path below the vendor's base address. */
  path: string;
  /** The caller's headers that pass. */
  headers: Readonly<Record<string, string>>;
  /** Makes the check for a form with this boundary. */
  startCheck: (boundary: string) => FormCheck | Promise<FormCheck>;
}

export async function passForm(
  caller: Caller,
  form: UploadedForm,
  { path, headers, startCheck }: PassedForm,
  requestId: string,
): Promise<GatewayAnswer> {
  const { request } = form;
  const vendor = await accessVendor(caller);
  if (!vendor) {
    await drain(request, DRAIN_BYTES_MAX);
    return noVendor();
  }
  const { readable, writable } = new IdentityTransformStream();
  const writer: Writer = writable.getWriter();
  const givenUp = new AbortController();
  const contentType = request.headers.get('Content-Type') ?? '';
  const check = await startCheck(parseBoundary(contentType) ?? '');
  const sending = send(form, check, writer, Number(caller.env.GATEWAY_TIMEOUT_MS)).then((sent) => {
    // To the vendor, a stream that is only abandoned would look finished.
    if (!sent.whole) givenUp.abort();
    return sent;
  });
  sending.catch(() => givenUp.abort());
  const passed = {
    method: 'POST',
    path,
    contentType,
    headers,
    body: readable,
    signal: givenUp.signal,
  } as const;
  const result = await vendor.ask(passed);
  // A vendor that answers early stops reading: a write that waits for it ends.
  void succeeded(writer.abort());
  const sent = await sending;
  await drain(request, DRAIN_BYTES_MAX);
  return sent.refusal ? refusalAnswer(sent.refusal) : passOn(result, vendor.key, requestId);
}

type Writer = WritableStreamDefaultWriter<Uint8Array>;

/** `whole`: the vendor has got the complete form. Without a refusal, one of the two ends has left. */
interface Sent {
  whole: boolean;
  refusal?: GatewayRefusal;
}

/** Passes the form on as it is checked. */
async function send(
  { request, bytesMax }: UploadedForm,
  check: FormCheck,
  writer: Writer,
  timeoutMs: number,
): Promise<Sent> {
  const parts = readParts(request.body as ReadableStream<Uint8Array>, timeoutMs);
  let length = 0;
  try {
    for (;;) {
      const part = await parts.next().catch(() => null);
      if (part === null) return { whole: false };
      if (part.done) break;
      length += part.value.byteLength;
      if (length > bytesMax)
        return refused(refuseCall('PAYLOAD_TOO_LARGE', `the body must have at most ${bytesMax} bytes`));
      const checked = await check.push(part.value);
      if (!checked.ok) return refused(checked);
      // The part's memory is reused after the vendor's connection has taken it.
      if (!(await written(checked.passed, writer))) return { whole: false };
    }
    const unended = check.end();
    return unended ? refused(unended) : { whole: await succeeded(writer.close()) };
  } finally {
    await parts.return(undefined);
  }
}

function refused({ refusal }: Refused): Sent {
  return { whole: false, refusal };
}

/** Whether the vendor took all of it. */
async function written(pieces: readonly Uint8Array[], writer: Writer): Promise<boolean> {
  for (const together of groupPieces(pieces)) if (!(await succeeded(writer.write(together)))) return false;
  return true;
}

function* groupPieces(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let group: Uint8Array[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (length > 0 && length + piece.length > WRITE_BYTES_MAX) {
      yield joined(group, length);
      [group, length] = [[], 0];
    }
    if (piece.length > 0) group.push(piece);
    length += piece.length;
  }
  if (length > 0) yield joined(group, length);
}

/** Whether the work could be done: the vendor may have left. */
function succeeded(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Accepts any complete form: it passes up to its last boundary. */
export class WholeForm implements FormCheck {
  readonly #scanner: FormScanner;

  constructor(boundary: string) {
    this.#scanner = new FormScanner(boundary);
  }

  async push(bytes: Uint8Array): Promise<CheckedPart> {
    const passed: Uint8Array[] = [];
    for (const event of this.#scanner.push(bytes)) {
      if (event.kind === 'broken') return brokenForm(event.rule);
      if ('bytes' in event) passed.push(event.bytes);
    }
    return { ok: true, passed };
  }

  end(): Refused | null {
    return unendedForm(this.#scanner);
  }
}

export function brokenForm(rule: string): Refused {
  return refuseCall('BAD_REQUEST', `the body ${rule}`);
}

/** The refusal of a form without its end: a lenient vendor would keep it. */
export function unendedForm({ isComplete }: FormScanner): Refused | null {
  return isComplete ? null : refuseCall('BAD_REQUEST', 'the form must end with its boundary');
}
