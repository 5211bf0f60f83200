/**
 * OpenAI's files and batches, in memory. A batch is done when it is read for the second time.
 */
import { type Fields, fieldsOrEmpty } from '../../vendors/usage/figures.ts';
import { newId, nowSeconds } from './dialect.ts';
import { remember } from './remember.ts';

interface StoredFile {
  name: string;
  purpose: string;
  content: string;
  createdAt: number;
}

interface Batch {
  body: Fields;
  createdAt: number;
  reads: number;
  isCancelled: boolean;
  lines: string[];
  /** The files that were made, if any: one with the answered lines, and one with the failed ones. */
  files: { output?: string; error?: string };
  failed: number;
}

/** The answer to a line of a batch: a status and a body. */
export type AnswerLine = (path: string, body: Fields) => { status: number; body: unknown };

/** The oldest are forgotten first. */
const FILES_MAX = 200;
const BATCHES_MAX = 100;
const STATES = ['validating', 'in_progress', 'completed'] as const;

export class Batches {
  readonly #files = new Map<string, StoredFile>();
  readonly #batches = new Map<string, Batch>();
  readonly #answerLine: AnswerLine;

  constructor(answerLine: AnswerLine) {
    this.#answerLine = answerLine;
  }

  /** `null` if the form has no file. */
  async upload(contentType: string, body: Buffer): Promise<Fields | null> {
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
      .formData()
      .catch(() => null);
    const file = form?.get('file');
    if (!form || !file || typeof file === 'string') return null;
    return this.store(file.name, String(form.get('purpose') ?? 'batch'), await file.text());
  }

  /** Keeps a file. */
  store(name: string, purpose: string, content: string): Fields {
    return this.#file(this.#store(name, purpose, content));
  }

  listFiles(): Fields {
    const data = [...this.#files.keys()].map((id) => this.#file(id));
    return { object: 'list', data, has_more: false };
  }

  readFile(id: string): Fields | null {
    return this.#files.has(id) ? this.#file(id) : null;
  }

  contentOf(id: string): string | null {
    return this.#files.get(id)?.content ?? null;
  }

  deleteFile(id: string): Fields | null {
    return this.#files.delete(id) ? { id, object: 'file', deleted: true } : null;
  }

  /** `null` if the input file does not exist. */
  create(body: Fields): Fields | null {
    const input = this.#files.get(String(body.input_file_id));
    if (!input) return null;
    const lines = input.content.split('\n').filter((line) => line.trim() !== '');
    const id = newId('batch_');
    const began = { createdAt: nowSeconds(), reads: 0, isCancelled: false, failed: 0 };
    remember(this.#batches, id, { body, lines, files: {}, ...began }, BATCHES_MAX);
    return this.#batch(id);
  }

  listBatches(): Fields {
    const data = [...this.#batches.keys()].map((id) => this.#batch(id));
    return { object: 'list', data, has_more: false };
  }

  readBatch(id: string): Fields | null {
    const batch = this.#batches.get(id);
    if (!batch) return null;
    batch.reads += 1;
    const isOver = STATES[batch.reads] === 'completed';
    if (isOver && !batch.isCancelled) this.#run(batch);
    return this.#batch(id);
  }

  cancel(id: string): Fields | null {
    const batch = this.#batches.get(id);
    if (!batch) return null;
    batch.isCancelled = batchState(batch) !== 'completed';
    return this.#batch(id);
  }

  #run(batch: Batch): void {
    const output: string[] = [];
    const errors: string[] = [];
    for (const [index, line] of batch.lines.entries()) {
      const { custom_id, url, body } = fieldsOrEmpty(parsed(line));
      const { status, body: answer } = this.#answerLine(String(url), fieldsOrEmpty(body));
      const response = { status_code: status, request_id: newId('req_'), body: answer };
      const made = JSON.stringify({ id: `batch_req_${index}`, custom_id, response, error: null });
      (status === 200 ? output : errors).push(made);
    }
    batch.failed = errors.length;
    const store = (name: string, lines: string[]) =>
      lines.length === 0 ? undefined : this.#store(name, 'batch_output', `${lines.join('\n')}\n`);
    const [made, failed] = [store('output.jsonl', output), store('error.jsonl', errors)];
    batch.files = { ...(made !== undefined && { output: made }), ...(failed !== undefined && { error: failed }) };
  }

  #store(name: string, purpose: string, content: string): string {
    const id = newId('file-');
    remember(this.#files, id, { name, purpose, content, createdAt: nowSeconds() }, FILES_MAX);
    return id;
  }

  #file(id: string): Fields {
    const { name, purpose, content, createdAt } = this.#files.get(id) as StoredFile;
    const bytes = Buffer.byteLength(content);
    return { id, object: 'file', bytes, created_at: createdAt, filename: name, purpose, status: 'processed' };
  }

  #batch(id: string): Fields {
    const batch = this.#batches.get(id) as Batch;
    const { body, lines, createdAt, failed, files } = batch;
    const status = batchState(batch);
    const done = status === 'completed' ? lines.length : 0;
    return {
      id,
      object: 'batch',
      endpoint: body.endpoint,
      errors: null,
      input_file_id: body.input_file_id,
      completion_window: body.completion_window ?? '24h',
      status,
      output_file_id: files.output ?? null,
      error_file_id: files.error ?? null,
      created_at: createdAt,
      in_progress_at: status === 'validating' ? null : createdAt,
      completed_at: status === 'completed' ? createdAt : null,
      cancelled_at: status === 'cancelled' ? createdAt : null,
      request_counts: { total: lines.length, completed: done - failed, failed },
      metadata: body.metadata ?? null,
    };
  }
}

function batchState({ reads, isCancelled }: Batch): string {
  return isCancelled ? 'cancelled' : (STATES[reads] ?? 'completed');
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
