/**
 * Use case: a file passes to the vendor in one pass over its form, and the lines of a batch's input are checked, and
 * their models named as the vendor does, on their way.
 *
 * Nothing is passed on that was not looked at, and nothing more after a broken line: the vendor never gets the end of
 * a form that is refused, so it keeps no file of it. What is held is the part of the form that was read last, one line
 * of at most `BATCH_LINE_BYTES_MAX`, and a name of at most 64 characters for each line.
 *
 * How long a form becomes whose models are replaced is known at its end alone, so no form is sent with a length. OpenAI
 * takes such forms: its SDK sends a file that it reads from a disk like that (openai 7.55.0, `internal/uploads.js`).
 */

import type { Caller } from '../../metering/caller.ts';
import { DRAIN_BYTES_MAX, drain, joined, partsOf } from '../../platform/bytes.ts';
import { boundaryOf, type UploadedForm } from '../../platform/multipart.ts';
import { currentCatalog } from '../../storage/catalog.ts';
import type { GatewayAnswer } from '../answer.ts';
import { type GatewayRefusal, type Refused, refusalAnswer, refuseCall } from '../error-envelope.ts';
import { accessVendor, noVendor, passOn } from '../pass-through.ts';
import { FormCheck } from './form-check.ts';
import { LineCheck } from './line-check.ts';
import { LineModels } from './line-models.ts';

/** Pieces are sent together up to this length: a write takes longer than their copy. */
const WRITE_BYTES_MAX = 256 * 1024;

/** `headers` are those of the caller that pass. */
export async function uploadFile(
  caller: Caller,
  form: UploadedForm,
  headers: Readonly<Record<string, string>>,
  requestId: string,
): Promise<GatewayAnswer> {
  const { env, organization, defer } = caller;
  const { request } = form;
  const vendor = await accessVendor(caller);
  if (!vendor) {
    await drain(request, DRAIN_BYTES_MAX);
    return noVendor();
  }
  const { catalog } = await currentCatalog(env, defer);
  const { readable, writable } = new IdentityTransformStream();
  const writer: Writer = writable.getWriter();
  const givenUp = new AbortController();
  const contentType = request.headers.get('Content-Type') ?? '';
  const lines = new LineCheck(new LineModels(organization, catalog, Date.now()));
  const check = new FormCheck(boundaryOf(contentType) ?? '', lines);
  const sending = send(form, check, writer, Number(env.GATEWAY_TIMEOUT_MS)).then((sent) => {
    // A stream that is only abandoned would look to the vendor as if it had ended.
    if (!sent.whole) givenUp.abort();
    return sent;
  });
  sending.catch(() => givenUp.abort());
  const passed = {
    method: 'POST',
    path: 'files',
    contentType,
    headers,
    body: readable,
    signal: givenUp.signal,
  } as const;
  const result = await vendor.stream(passed);
  // A vendor that answers early reads no more: a write that waits for it ends.
  void succeeded(writer.abort());
  const sent = await sending;
  await drain(request, DRAIN_BYTES_MAX);
  return sent.refusal ? refusalAnswer(sent.refusal) : passOn(result, vendor.key, requestId);
}

type Writer = WritableStreamDefaultWriter<Uint8Array>;

/** `whole`: the vendor has got the form to its end. Without a refusal one of the two ends has left. */
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
  const parts = partsOf(request.body as ReadableStream<Uint8Array>, timeoutMs);
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
      // The part's memory is used again once the vendor's connection has taken it.
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
  for (const together of groupsOf(pieces)) if (!(await succeeded(writer.write(together)))) return false;
  return true;
}

function* groupsOf(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
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
