/**
 * The part of Cloudflare's API that wrangler uses for a deployment, in memory: databases run their SQL on SQLite,
 * namespaces and buckets have unique names, a Worker has its bindings, secrets, object migrations and versions.
 *
 * An unknown request gets 404 and is kept in `unknown`. A failure may be injected at any request: before it is done, or
 * after, when its answer is lost.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';

const ACCOUNT_ID = 'a'.repeat(32);
/** Files that wrangler is to send at once. */
const FILES_OF_A_REQUEST = 100;
const API_TOKEN = 'token-of-the-account';

interface Binding {
  type: string;
  name: string;
  [field: string]: unknown;
}

interface Metadata {
  bindings: Binding[];
  /** The token of a session with all of its files. */
  assets?: { jwt: string };
  keep_bindings?: string[];
  migrations?: { new_tag: string; old_tag?: string; steps: unknown[] };
}

interface Worker {
  /** Its bindings; secrets are separate. */
  bindings: Binding[];
  secrets: Record<string, string>;
  migrationTag: string | undefined;
  versions: number;
  crons: string[];
  isOnWorkersDev: boolean;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Asked {
  method: string;
  /** Below the account. */
  path: string;
  query: URLSearchParams;
  json: () => Record<string, unknown>;
  /** The token of the upload of files that it belongs to. */
  upload?: string;
  form: () => Promise<FormData>;
}

export class Cloudflare {
  readonly databases = new Map<string, { name: string; sqlite: DatabaseSync }>();
  readonly namespaces = new Map<string, string>();
  /** Files of Workers by their hash. */
  readonly files = new Map<string, Buffer>();
  /** Uploads of files: which hashes each one lacks still, by its token. */
  readonly #uploads = new Map<string, Set<string>>();
  readonly buckets = new Set<string>();
  readonly workers = new Map<string, Worker>();
  /** Every request, as `METHOD path` below the account. */
  readonly requests: string[] = [];
  readonly unknown: string[] = [];
  /** Whether R2 is enabled in the account. */
  hasR2 = true;
  /** Called after a request was done; if it returns true, the answer is lost. */
  after: (request: string) => boolean | Promise<boolean> = () => false;
  /** Called after a Worker was deployed, with the secrets that it has now. */
  deployed: (secrets: Record<string, string>) => void | Promise<void> = () => undefined;

  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async start(): Promise<Cloudflare> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Cloudflare(server);
  }

  /** The environment that makes wrangler use it. */
  get environment(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
      CLOUDFLARE_API_TOKEN: API_TOKEN,
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT_ID,
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The rows of a query of a database, by the database's name. */
  rows(database: string, sql: string): Record<string, unknown>[] {
    const found = [...this.databases.values()].find(({ name }) => name === database);
    return found ? found.sqlite.prepare(sql).all() : [];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://cloudflare');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const { method = 'GET' } = request;
    const whole = url.pathname.replace('/client/v4', '');
    const path = whole.replace(`/accounts/${ACCOUNT_ID}`, '') || '/';
    const name = `${method} ${path}`;
    this.requests.push(name);
    const contentType = request.headers['content-type'] ?? '';
    const asked: Asked = {
      ...{ method, path, query: url.searchParams },
      json: () => JSON.parse(body.toString() || '{}'),
      form: () => new Response(body, { headers: { 'Content-Type': contentType } }).formData(),
    };
    let status = 200;
    let answer: object;
    try {
      const [, bearer = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
      const isFile = path === '/workers/assets/upload' && this.#uploads.has(bearer);
      if (isFile) asked.upload = bearer;
      else if (bearer !== API_TOKEN) throw new Refusal(401, 10000, 'Authentication error');
      const found = await this.#answer(asked);
      const page = Number(url.searchParams.get('page') ?? 1);
      // All of a list is on its first page.
      const result = Array.isArray(found) && page > 1 ? [] : found;
      const count = Array.isArray(found) ? found.length : 1;
      const info = { page, per_page: Math.max(count, 20), count, total_count: count };
      answer = { success: true, errors: [], messages: [], result, result_info: info };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      status = error.status;
      answer = { success: false, errors: [{ code: error.code, message: error.message }], messages: [], result: null };
    }
    if (await this.after(name)) return void request.socket.destroy();
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
  }

  async #answer(asked: Asked): Promise<unknown> {
    const { method, path } = asked;
    const [, area, kind, ...rest] = path.split('/');
    switch (`${area}/${kind}`) {
      case 'user/tokens':
        return { id: 'token', status: 'active' };
      case 'd1/database':
        return this.#answerD1(asked, rest);
      case 'storage/kv':
        return this.#answerKv(asked);
      case 'r2/buckets':
        return this.#answerR2(asked, rest);
      case 'workers/subdomain':
        return { subdomain: 'somebody' };
      case 'workers/services':
        return this.#answerService(rest[0] ?? '');
      case 'workers/scripts':
        return this.#answerScript(asked, rest);
      case 'workers/assets':
        return this.#takeFiles(asked.upload ?? '', await asked.form());
      case 'workers/workers':
        return { subdomain: { enabled: this.#worker(rest[0] ?? '').isOnWorkersDev, previews_enabled: false } };
    }
    switch (`${method} ${path}`) {
      case 'GET /user':
        return { id: 'user', email: 'somebody@example.com' };
      case 'GET /accounts':
        return [{ id: ACCOUNT_ID, name: 'Somebody' }];
      case 'GET /memberships':
        return [{ id: 'm', account: { id: ACCOUNT_ID, name: 'Somebody' } }];
    }
    return this.#unknown(asked);
  }

  #unknown({ method, path }: Asked): never {
    this.unknown.push(`${method} ${path}`);
    throw new Refusal(404, 7003, `no route for ${method} ${path}`);
  }

  #answerD1(asked: Asked, [idOrName, action]: string[]): unknown {
    const { method } = asked;
    if (idOrName === undefined) {
      if (method === 'GET') return [...this.databases].map(([uuid, { name }]) => ({ uuid, name }));
      const name = String(asked.json().name);
      if ([...this.databases.values()].some((one) => one.name === name))
        throw new Refusal(400, 7502, `database with name ${name} already exists`);
      const uuid = randomUUID();
      this.databases.set(uuid, { name, sqlite: new DatabaseSync(':memory:') });
      return { uuid, name };
    }
    const wanted = decodeURIComponent(idOrName);
    const found = [...this.databases].find(([uuid, { name }]) => uuid === wanted || name === wanted);
    if (!found) throw new Refusal(404, 7404, `The database ${wanted} could not be found`);
    const [uuid, { name, sqlite }] = found;
    if (action === undefined) return { uuid, name };
    if (action !== 'query') return this.#unknown(asked);
    return [query(sqlite, String(asked.json().sql))];
  }

  #answerKv(asked: Asked): unknown {
    if (asked.method === 'GET') return [...this.namespaces].map(([id, title]) => ({ id, title }));
    const title = String(asked.json().title);
    if ([...this.namespaces.values()].includes(title))
      throw new Refusal(400, 10014, 'a namespace with this account ID and title already exists');
    const id = randomUUID().replaceAll('-', '');
    this.namespaces.set(id, title);
    return { id, title };
  }

  #answerR2(asked: Asked, [name]: string[]): unknown {
    if (!this.hasR2) throw new Refusal(403, 10042, 'Please enable R2 through the Cloudflare Dashboard.');
    if (asked.method === 'POST') {
      this.buckets.add(String(asked.json().name));
      return {};
    }
    if (name === undefined) return { buckets: [...this.buckets].map((one) => ({ name: one })) };
    if (!this.buckets.has(name)) throw new Refusal(404, 10006, 'The specified bucket does not exist.');
    return { name };
  }

  #worker(name: string): Worker {
    const worker = this.workers.get(name);
    if (!worker) throw new Refusal(404, 10007, 'This Worker does not exist on your account.');
    return worker;
  }

  #answerService(name: string): unknown {
    const { migrationTag } = this.#worker(name);
    const script = { id: name, tag: 'tag', tags: null, last_deployed_from: 'wrangler', migration_tag: migrationTag };
    return { id: name, default_environment: { environment: 'production', script } };
  }

  async #answerScript(asked: Asked, [name, action]: string[]): Promise<unknown> {
    if (name === undefined)
      return [...this.workers].map(([id, { migrationTag }]) => ({ id, migration_tag: migrationTag }));
    switch (`${asked.method} ${action ?? ''}`) {
      case 'POST assets-upload-session':
        return this.#beginFiles(asked.json().manifest as Record<string, { hash: string }>);
      case 'PUT ':
      case 'POST versions':
        return this.#upload(name, await asked.form());
      case 'GET secrets':
        return Object.keys(this.#worker(name).secrets).map((secret) => ({ name: secret, type: 'secret_text' }));
      case 'GET settings': {
        const { bindings, secrets } = this.#worker(name);
        return { bindings: [...bindings, ...Object.keys(secrets).map((one) => ({ name: one, type: 'secret_text' }))] };
      }
      case 'GET deployments':
        return { deployments: [{ id: 'd', source: 'wrangler', versions: [{ version_id: 'v', percentage: 100 }] }] };
      case 'POST deployments':
      case 'PATCH script-settings':
      case 'PATCH settings':
        return {};
      case 'GET subdomain':
        return { enabled: this.#worker(name).isOnWorkersDev, previews_enabled: false };
      case 'POST subdomain':
        this.#worker(name).isOnWorkersDev = true;
        return { enabled: true, previews_enabled: false };
      case 'PUT schedules':
        this.#worker(name).crons = (asked.json() as unknown as { cron: string }[]).map(({ cron }) => cron);
        return {};
      case 'GET versions':
        return { items: [] };
    }
    return this.#unknown(asked);
  }

  /** Asks for the files that nobody has uploaded before. */
  #beginFiles(manifest: Record<string, { hash: string }>): unknown {
    const lacking = new Set(
      Object.values(manifest)
        .map(({ hash }) => hash)
        .filter((hash) => !this.files.has(hash)),
    );
    const jwt = `files.${randomUUID()}.0`;
    this.#uploads.set(jwt, lacking);
    const hashes = [...lacking];
    const buckets = Array.from({ length: Math.ceil(hashes.length / FILES_OF_A_REQUEST) }, (_, index) =>
      hashes.slice(index * FILES_OF_A_REQUEST, (index + 1) * FILES_OF_A_REQUEST),
    );
    return { jwt, buckets };
  }

  /** The token that a deployment presents comes with the last of the files. */
  async #takeFiles(upload: string, form: FormData): Promise<unknown> {
    const lacking = this.#uploads.get(upload);
    if (!lacking) throw new Refusal(401, 10000, 'Authentication error');
    for (const [hash, file] of form) {
      if (!lacking.delete(hash)) throw new Refusal(400, 10100, `the file ${hash} was not asked for`);
      this.files.set(hash, Buffer.from(await (file as File).text(), 'base64'));
    }
    return lacking.size === 0 ? { jwt: upload } : {};
  }

  /**
   * Inherited bindings must exist, ids must belong to existing objects, and object migrations begin at the end of the
   * last one.
   */
  async #upload(name: string, form: FormData): Promise<unknown> {
    const metadata = JSON.parse(String(form.get('metadata'))) as Metadata;
    const { assets } = metadata;
    if (assets && this.#uploads.get(assets.jwt)?.size !== 0)
      throw new Refusal(400, 10101, 'the files of the Worker are not all there');
    const before = this.workers.get(name);
    const secrets = { ...before?.secrets };
    const bindings: Binding[] = [];
    for (const binding of metadata.bindings) {
      if (binding.type === 'secret_text') secrets[binding.name] = String(binding.text);
      else bindings.push(binding.type === 'inherit' ? this.#inherited(binding, before) : this.#checked(binding));
    }
    const tag = metadata.migrations?.old_tag;
    if (metadata.migrations && tag !== before?.migrationTag)
      throw new Refusal(412, 10079, `the migration tag is ${before?.migrationTag}, not ${tag}`);
    this.workers.set(name, {
      bindings: bindings.filter(({ type }) => type !== 'secret_text'),
      secrets,
      migrationTag: metadata.migrations?.new_tag ?? before?.migrationTag,
      versions: (before?.versions ?? 0) + 1,
      crons: before?.crons ?? [],
      isOnWorkersDev: before?.isOnWorkersDev ?? false,
    });
    await this.deployed(secrets);
    const id = randomUUID();
    return {
      id,
      etag: 'etag',
      deployment_id: id.replaceAll('-', ''),
      startup_time_ms: 1,
      resources: { script: { etag: 'etag' } },
    };
  }

  #inherited({ name }: Binding, before: Worker | undefined): Binding {
    const found = before?.bindings.find((one) => one.name === name);
    if (found) return found;
    if (before && name in before.secrets) return { type: 'secret_text', name };
    throw new Refusal(400, 10057, `there is no binding ${name} to inherit`);
  }

  #checked(binding: Binding): Binding {
    const isThere =
      (binding.type !== 'd1' || this.databases.has(String(binding.id))) &&
      (binding.type !== 'kv_namespace' || this.namespaces.has(String(binding.namespace_id))) &&
      (binding.type !== 'r2_bucket' || this.buckets.has(String(binding.bucket_name)));
    if (!isThere && binding.type === 'r2_bucket') throw new Refusal(400, 10085, 'R2 bucket not found');
    if (!isThere) throw new Refusal(400, 10021, `binding ${binding.name} is of nothing that exists`);
    return binding;
  }
}

/** As D1 does: all statements in one transaction, the rows of the last one. */
function query(sqlite: DatabaseSync, sql: string): object {
  try {
    if (/^\s*select/i.test(sql)) return { success: true, results: sqlite.prepare(sql).all(), meta: {} };
    sqlite.exec(`BEGIN;\n${sql}\n;COMMIT`);
    return { success: true, results: [], meta: {} };
  } catch (error) {
    if (sqlite.isTransaction) sqlite.exec('ROLLBACK');
    throw new Refusal(400, 7500, (error as Error).message);
  }
}
