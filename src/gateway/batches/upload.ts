/**
 * Use case: a file passes to the vendor in one pass over its form, and the lines of a batch's input are checked on
 * their way.
 *
 * Nothing is passed on that was not looked at, and nothing more after a broken line: the vendor never gets the end of
 * a form that is refused, so it keeps no file of it. What is held is the part of the form that was read last, one line
 * of at most `BATCH_LINE_BYTES_MAX`, and a name of at most `NAME_LENGTH_MAX` characters for each line.
 */

import type { Caller } from '../../metering/caller.ts';
import { DRAIN_BYTES_MAX, drain, type Line, LineSplitter, partsOf } from '../../platform/bytes.ts';
import { sha256Hex } from '../../platform/hash.ts';
import { boundaryOf, FormScanner, type UploadedForm } from '../../platform/multipart.ts';
import type { GatewayAnswer } from '../answer.ts';
import { type GatewayRefusal, refusalAnswer, refuseCall } from '../error-envelope.ts';
import { accessVendor, noVendor, passOn } from '../pass-through.ts';
import { BATCH_LINE_BYTES_MAX, BATCH_LINES_MAX, lineOf } from './admission.ts';

/** The longest name of a line that is held as it is: a longer one is held as its hash. */
const NAME_LENGTH_MAX = 64;
/** More than any purpose has. */
const PURPOSE_BYTES_MAX = 100;
/** Fields that a form has once: of two, vendors take different ones. */
const FIELDS = ['file', 'purpose'];

/** `headers` are those of the caller that pass. */
export async function uploadFile(
  caller: Caller,
  form: UploadedForm,
  headers: Readonly<Record<string, string>>,
  requestId: string,
): Promise<GatewayAnswer> {
  const { request, bytes } = form;
  const vendor = await accessVendor(caller);
  if (!vendor) {
    await drain(request, DRAIN_BYTES_MAX);
    return noVendor();
  }
  const { readable, writable } = bytes === null ? new IdentityTransformStream() : new FixedLengthStream(bytes);
  const writer: Writer = writable.getWriter();
  const givenUp = new AbortController();
  const contentType = request.headers.get('Content-Type') ?? '';
  const check = new FormCheck(boundaryOf(contentType) ?? '');
  const sending = send(form, check, writer, Number(caller.env.GATEWAY_TIMEOUT_MS)).then((sent) => {
    // A stream that is only abandoned would look to the vendor as if it had ended, where no length was declared.
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
  { request, bytes, bytesMax }: UploadedForm,
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
      if (length > bytesMax) return refusedFor('PAYLOAD_TOO_LARGE', `the body must have at most ${bytesMax} bytes`);
      const refused = (await check.push(part.value)) ?? (length === bytes ? check.end() : null);
      if (refused) return refused;
      // Its memory is used again once the vendor's connection has taken it.
      if (!(await succeeded(writer.write(part.value)))) return { whole: false };
    }
    return check.end() ?? { whole: await succeeded(writer.close()) };
  } finally {
    await parts.return(undefined);
  }
}

function refusedFor(code: 'BAD_REQUEST' | 'PAYLOAD_TOO_LARGE', message: string, param?: string): Sent {
  return { whole: false, ...refuseCall(code, message, param === undefined ? {} : { param }) };
}

/** Whether the work could be done: the vendor may have left. */
function succeeded(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** What is wrong with a form, as far as it has come. */
class FormCheck {
  readonly #scanner: FormScanner;
  readonly #lines = new LineSplitter(BATCH_LINE_BYTES_MAX);
  readonly #decoder = new TextDecoder();
  readonly #names = new Set<string>();
  readonly #fields: string[] = [];
  #field: string | null = null;
  #count = 0;
  #purpose = '';
  /** `undefined` while the purpose has not come. */
  #isBatch: boolean | undefined;
  /** The first broken line: it counts once the purpose is known. */
  #broken: string | null = null;

  constructor(boundary: string) {
    this.#scanner = new FormScanner(boundary);
  }

  async push(part: Uint8Array): Promise<Sent | null> {
    for (const event of this.#scanner.push(part)) {
      switch (event.kind) {
        case 'broken':
          return refusedFor('BAD_REQUEST', `the body ${event.rule}`);
        case 'part':
          this.#field = event.name;
          if (event.name === null || !FIELDS.includes(event.name)) break;
          if (this.#fields.includes(event.name))
            return refusedFor('BAD_REQUEST', 'the form must have the field once', event.name);
          this.#fields.push(event.name);
          break;
        case 'content':
          if (this.#field === 'purpose') this.#readPurpose(event.bytes);
          if (this.#field === 'file') await this.#check(this.#lines.push(event.bytes));
          break;
        case 'partEnd':
          if (this.#field === 'purpose') this.#isBatch = this.#purpose === 'batch';
          if (this.#field === 'file') await this.#check(this.#lines.end());
          this.#field = null;
      }
      if (this.#isBatch && this.#broken !== null) return refusedFor('BAD_REQUEST', this.#broken, 'file');
    }
    return null;
  }

  /** A form that has no end would be kept by a vendor that does not mind. */
  end(): Sent | null {
    return this.#scanner.isComplete ? null : refusedFor('BAD_REQUEST', 'the form must end with its boundary');
  }

  #readPurpose(bytes: Uint8Array): void {
    if (this.#purpose.length < PURPOSE_BYTES_MAX)
      this.#purpose += this.#decoder.decode(bytes.subarray(0, PURPOSE_BYTES_MAX), { stream: true });
  }

  /** Reads on until a line is broken; what is no batch has no lines. */
  async #check(lines: Iterable<Line>): Promise<void> {
    if (this.#isBatch === false || this.#broken !== null) return;
    for (const line of lines) {
      this.#count += 1;
      if (this.#count > BATCH_LINES_MAX) this.#broken = `the file has more than ${BATCH_LINES_MAX} lines`;
      const rule = await this.#ruleBroken(line);
      if (rule !== null) this.#broken ??= `line ${line.number} of the file ${rule}`;
      if (this.#broken !== null) return;
    }
  }

  async #ruleBroken({ text, cut }: Line): Promise<string | null> {
    if (cut) return `has more than ${BATCH_LINE_BYTES_MAX} bytes`;
    const line = lineOf(text);
    if ('rule' in line) return line.rule;
    const { customId, method, path } = line;
    if (typeof customId !== 'string' || customId === '') return 'names no custom_id';
    const name = customId.length <= NAME_LENGTH_MAX ? customId : `sha256:${await sha256Hex(customId)}`;
    if (this.#names.has(name)) return 'has the custom_id of a line before it';
    this.#names.add(name);
    if (method !== 'POST') return 'must have the method POST';
    return path.startsWith('/v1/') ? null : 'must have a url that begins with /v1/';
  }
}
