/**
 * OpenAI's uploads, in memory: a file that arrives in parts.
 */
import { type Fields, listOrEmpty } from '../../vendors/usage/figures.ts';
import { newId, nowSeconds } from './dialect.ts';
import { remember } from './remember.ts';

interface Upload {
  body: Fields;
  status: 'pending' | 'completed' | 'cancelled';
  createdAt: number;
  parts: Map<string, Buffer>;
  file: Fields | null;
}

/** The oldest are forgotten first. */
const UPLOADS_MAX = 20;
const PARTS_MAX = 200;
/** An upload ends an hour after it began. */
const LASTS_SECONDS = 3_600;

/** Keeps a file, and returns its description. */
export type StoreFile = (name: string, purpose: string, content: Buffer) => Fields;

export class Uploads {
  readonly #uploads = new Map<string, Upload>();
  readonly #storeFile: StoreFile;

  constructor(storeFile: StoreFile) {
    this.#storeFile = storeFile;
  }

  create(body: Fields): Fields {
    const id = newId('upload_');
    const began = { status: 'pending' as const, createdAt: nowSeconds(), parts: new Map(), file: null };
    remember(this.#uploads, id, { body, ...began }, UPLOADS_MAX);
    return this.#upload(id);
  }

  /** `null` if no such upload is open, or its form has no part. */
  async add(id: string, contentType: string, body: Buffer): Promise<Fields | null> {
    const upload = this.#pending(id);
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } })
      .formData()
      .catch(() => null);
    const data = form?.get('data');
    if (!upload || !data || typeof data === 'string') return null;
    const partId = newId('part_');
    remember(upload.parts, partId, Buffer.from(await data.arrayBuffer()), PARTS_MAX);
    return { id: partId, object: 'upload.part', created_at: nowSeconds(), upload_id: id };
  }

  /** `null` if no such upload is open; a text is the error of the request. */
  complete(id: string, { part_ids }: Fields): Fields | string | null {
    const upload = this.#pending(id);
    if (!upload) return null;
    const parts = listOrEmpty(part_ids).map((partId) => upload.parts.get(String(partId)));
    const found = parts.filter((part) => part !== undefined);
    if (found.length === 0 || found.length < parts.length) return 'part_ids: must be the parts of the upload';
    const content = Buffer.concat(found);
    const { filename, purpose, bytes } = upload.body;
    if (content.length !== bytes) return `the parts have ${content.length} bytes, and the upload was to have ${bytes}`;
    upload.status = 'completed';
    upload.file = this.#storeFile(String(filename), String(purpose), content);
    upload.parts.clear();
    return this.#upload(id);
  }

  cancel(id: string): Fields | null {
    const upload = this.#pending(id);
    if (!upload) return null;
    upload.status = 'cancelled';
    upload.parts.clear();
    return this.#upload(id);
  }

  #pending(id: string): Upload | null {
    const upload = this.#uploads.get(id);
    return upload?.status === 'pending' ? upload : null;
  }

  #upload(id: string): Fields {
    const { body, status, createdAt, file } = this.#uploads.get(id) as Upload;
    const { filename, purpose, bytes } = body;
    const times = { created_at: createdAt, expires_at: createdAt + LASTS_SECONDS };
    return { id, object: 'upload', bytes, ...times, filename, purpose, status, file };
  }
}
