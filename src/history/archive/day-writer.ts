/**
 * Writes the object of one day: rows in, gzip members out, in parts that R2 takes. Memory holds one member and less
 * than two parts. Unfinished work is stored and continues in the next run.
 *
 * The object is visible only when it is complete: a small one is put in one piece; R2 joins the parts of a large one at
 * the end.
 */
import type { Env } from '../../env.ts';
import { stableHash } from '../../platform/content-hash.ts';
import { Sha256 } from '../../platform/sha256.ts';
import { utcDay } from '../../platform/time.ts';
import type { HistoryDay, HistoryPlace, HistoryRow } from './days.ts';
import {
  archiveBucket,
  customersName,
  dayFolder,
  FORMAT,
  type Manifest,
  type Member,
  objectName,
  progressName,
  uploadName,
} from './manifest.ts';
import { compress, formatRow, MEMBER_LENGTH_MAX, MEMBER_ROWS_MAX } from './members.ts';

/** All parts of an object except the last have this size; R2 requires at least 5 MiB, and accepts 10,000 parts. */
const PART_BYTES = 8 * 1024 * 1024;
/** The most customers of a day that are listed; if it has more, every erasure rewrites the day. */
const CUSTOMERS_MAX = 500_000;

/** The stored state of unfinished work, without the customers and the bytes that do not fill a part yet. */
interface Progress {
  last: HistoryPlace | null;
  rows: number;
  offset: number;
  members: Member[];
  listsCustomers: boolean;
  customers: number;
  sha256: string;
  upload: { uploadId: string; parts: R2UploadedPart[] } | null;
}

export class DayWriter {
  readonly #env: Env;
  readonly #day: HistoryDay;
  readonly #generation: string;
  #sha256 = new Sha256();
  #last: HistoryPlace | null = null;
  #rows = 0;
  /** Bytes of all members that are finished. */
  #offset = 0;
  #members: Member[] = [];
  #customers = new Set<number>();
  #listsCustomers = true;
  #upload: Progress['upload'] = null;
  /** Bytes of finished members that are in no part yet. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #lines: string[] = [];
  #linesLength = 0;
  #linesFrom: HistoryPlace | null = null;

  constructor(env: Env, day: HistoryDay, generation: string) {
    this.#env = env;
    this.#day = day;
    this.#generation = generation;
  }

  /** The last row that was added. */
  get last(): HistoryPlace | null {
    return this.#last;
  }

  /** The work that an earlier run stored; `null` if there is none. */
  static async resume(env: Env, day: HistoryDay, generation: string): Promise<DayWriter | null> {
    const stored = await archiveBucket(env).get(dayFolder(day) + progressName(generation));
    if (!stored) return null;
    const bytes = new Uint8Array(await stored.arrayBuffer());
    const end = bytes.indexOf(0x0a);
    const progress = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as Progress;
    const customers = bytes.slice(end + 1, end + 1 + progress.customers * 4);
    const sha256 = Sha256.from(progress.sha256);
    if (!sha256) throw new Error('the stored hash of an object cannot be read');
    const writer = new DayWriter(env, day, generation);
    writer.#sha256 = sha256;
    writer.#last = progress.last;
    writer.#rows = progress.rows;
    writer.#offset = progress.offset;
    writer.#members = progress.members;
    writer.#listsCustomers = progress.listsCustomers;
    writer.#customers = new Set(new Uint32Array(customers.buffer));
    writer.#upload = progress.upload;
    writer.#push(bytes.slice(end + 1 + customers.length));
    return writer;
  }

  async add(row: HistoryRow): Promise<void> {
    const isFull = this.#lines.length >= MEMBER_ROWS_MAX || this.#linesLength >= MEMBER_LENGTH_MAX;
    if (this.#linesFrom && (isFull || this.#linesFrom.kind !== row.kind)) await this.#endMember();
    this.#linesFrom ??= { kind: row.kind, atMs: row.atMs, id: row.id };
    const line = formatRow(row);
    this.#lines.push(line);
    this.#linesLength += line.length;
    this.#rows += 1;
    this.#last = { kind: row.kind, atMs: row.atMs, id: row.id };
    if (this.#listsCustomers) this.#customers.add(stableHash(row.customerId));
    if (this.#customers.size > CUSTOMERS_MAX) {
      this.#listsCustomers = false;
      this.#customers.clear();
    }
  }

  /** Stores the work so far, so that the next run can continue. */
  async store(): Promise<void> {
    await this.#endMember();
    const customers = Uint32Array.from(this.#customers);
    const progress: Progress = {
      last: this.#last,
      rows: this.#rows,
      offset: this.#offset,
      members: this.#members,
      listsCustomers: this.#listsCustomers,
      customers: customers.length,
      sha256: this.#sha256.state(),
      upload: this.#upload,
    };
    const parts = new Blob([`${JSON.stringify(progress)}\n`, customers, ...this.#pending]);
    await archiveBucket(this.#env).put(this.#keyOf(progressName(this.#generation)), await parts.arrayBuffer());
  }

  /** Completes the object. Returns its manifest, which is not written yet; `null` if the day has no rows. */
  async finish(nowMs: number): Promise<Manifest | null> {
    await this.#endMember();
    if (this.#rows === 0) return null;
    const bucket = archiveBucket(this.#env);
    const object = objectName(this.#generation);
    const key = this.#keyOf(object);
    if (this.#upload) {
      if (this.#pendingBytes > 0) await this.#sendPart(this.#pendingBytes);
      await this.#resumed(this.#upload.uploadId).complete(this.#upload.parts);
    } else {
      await bucket.put(key, this.#take(this.#pendingBytes), METADATA);
    }
    await bucket.put(this.#keyOf(customersName(object)), Uint32Array.from(this.#customers));
    return {
      format: FORMAT,
      organizationId: this.#day.organizationId,
      day: utcDay(this.#day.dayMs),
      object,
      rows: this.#rows,
      bytes: this.#offset,
      sha256: this.#sha256.digest(),
      writtenAt: new Date(nowMs).toISOString(),
      members: this.#members,
      listsCustomers: this.#listsCustomers,
    };
  }

  async #endMember(): Promise<void> {
    const first = this.#linesFrom;
    if (!first) return;
    const member = await compress(this.#lines.join(''));
    this.#members.push({ kind: first.kind, offset: this.#offset, rows: this.#lines.length, fromMs: first.atMs });
    this.#sha256.update(member);
    this.#offset += member.length;
    this.#lines = [];
    this.#linesLength = 0;
    this.#linesFrom = null;
    this.#push(member);
    while (this.#pendingBytes >= PART_BYTES) await this.#sendPart(PART_BYTES);
  }

  async #sendPart(bytes: number): Promise<void> {
    if (!this.#upload) {
      const { uploadId } = await archiveBucket(this.#env).createMultipartUpload(
        this.#keyOf(objectName(this.#generation)),
        METADATA,
      );
      // Stored so that the parts can be removed even if this run stops halfway.
      await archiveBucket(this.#env).put(this.#keyOf(uploadName(this.#generation)), uploadId);
      this.#upload = { uploadId, parts: [] };
    }
    const { uploadId, parts } = this.#upload;
    parts.push(await this.#resumed(uploadId).uploadPart(parts.length + 1, this.#take(bytes)));
  }

  #resumed(uploadId: string): R2MultipartUpload {
    return archiveBucket(this.#env).resumeMultipartUpload(this.#keyOf(objectName(this.#generation)), uploadId);
  }

  #push(bytes: Uint8Array): void {
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  /** Takes the first of the bytes that are in no part yet. */
  #take(length: number): Uint8Array<ArrayBuffer> {
    const taken = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const next = this.#pending.shift() ?? new Uint8Array();
      const fits = next.subarray(0, length - at);
      taken.set(fits, at);
      at += fits.length;
      if (fits.length < next.length) this.#pending.unshift(next.subarray(fits.length));
    }
    this.#pendingBytes -= length;
    return taken;
  }

  #keyOf(name: string): string {
    return dayFolder(this.#day) + name;
  }
}

const METADATA: R2PutOptions & R2MultipartOptions = { httpMetadata: { contentType: 'application/gzip' } };
