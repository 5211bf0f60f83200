/**
 * The answer for each path of each vendor.
 */
import { parseJsonText } from '../../platform/json.ts';
import { type Fields, fieldsOrEmpty } from '../../vendors/usage/figures.ts';
import { COUNT_TOKENS as COUNT_MESSAGES, MESSAGES } from './anthropic.ts';
import { Batches } from './batches.ts';
import type { Dialect } from './dialect.ts';
import { type Embedded, googleEmbeddings, openaiEmbeddings } from './embeddings.ts';
import { type ErrorForm, failureBody } from './failure.ts';
import { CONTENT, COUNT_TOKENS } from './google.ts';
import { isForm, mediaAnswer, readMultipart } from './media.ts';
import { listGoogleAsOpenai, listModels, oneModel } from './models.ts';
import { chatDialect } from './openai-chat.ts';
import { COMPLETIONS } from './openai-completions.ts';
import { COMPACTION, INPUT_TOKENS, RESPONSES } from './openai-responses.ts';
import type { Outcome, Refusal } from './outcome.ts';
import { NO_WORDS, readWords } from './prompt.ts';
import { remember } from './remember.ts';
import { replyTo } from './reply.ts';
import { rerank } from './rerank.ts';
import { StoredResponses } from './stored-responses.ts';
import { Uploads } from './uploads.ts';

export interface Received {
  method: string;
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

type StreamForm = 'sse' | 'array' | null;

const OPENAI = chatDialect('openai');
const GOOGLE_AS_OPENAI = chatDialect('google');
/** The oldest are forgotten first. */
const LIBRARIES_MAX = 100;
/** Paths that the lines of a batch may name. */
const BATCH_PATHS = ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/completions', '/v1/moderations'];
const NOT_FOUND: Refusal = { kind: 'refused', status: 404, message: 'there is nothing at this address' };
const ASKED_FOR = 'the prompt asked for this error';

/** Answers requests, and keeps their files, batches and responses. */
export type Router = (received: Received) => Promise<Outcome>;

/** The objects that are kept between requests. */
interface Kept {
  batches: Batches;
  uploads: Uploads;
  responses: StoredResponses;
  /** Like Mistral's libraries, but under ids that their maker chooses. */
  libraries: Map<string, Fields>;
}

export function newRouter(): Router {
  const batches = new Batches(answerLine);
  const uploads = new Uploads((name, purpose, content) => batches.store(name, purpose, content.toString()));
  const kept = { batches, uploads, responses: new StoredResponses(), libraries: new Map<string, Fields>() };
  return async (received) => {
    const form = chooseErrorForm(received);
    if (!hasKey(received)) return refused(401, 'an API key is missing; here, any text will do');
    switch (received.method) {
      case 'POST':
        return post(kept, received);
      case 'PUT':
      case 'PATCH':
        return write(kept, received);
      case 'DELETE':
        return remove(kept, received.url);
      case 'GET':
        return read(kept, received.url, form);
      default:
        return NOT_FOUND;
    }
  };
}

async function post(kept: Kept, received: Received): Promise<Outcome> {
  const { batches, uploads, responses } = kept;
  const { url, headers, body: bytes } = received;
  const [noun, id = '', action] = matchKept(url);
  const type = headers['content-type'] ?? '';
  if (noun === 'files' && id === '') return upload(batches, received);
  if (noun === 'uploads' && action === 'parts') return found(await uploads.add(id, type, bytes));
  if (action === 'cancel') {
    if (noun === 'batches') return found(batches.cancel(id));
    return found(noun === 'uploads' ? uploads.cancel(id) : responses.read(id));
  }
  if (isForm(url.pathname)) {
    const form = await readMultipart(type, bytes);
    return form
      ? (mediaAnswer(url.pathname, form.fields, form.files) ?? NOT_FOUND)
      : refused(400, 'the body must be a form');
  }
  const parsed = parseJsonText(bytes.toString());
  if (!parsed.ok) return refused(400, 'the body must be JSON');
  const body = fieldsOrEmpty(parsed.value);
  if (noun === 'batches') return found(batches.create(body));
  if (noun === 'uploads' && id === '') return found(uploads.create(body));
  if (noun === 'uploads' && action === 'complete') {
    const completed = uploads.complete(id, body);
    return typeof completed === 'string' ? refused(400, completed) : found(completed);
  }
  const outcome = ask(url, body);
  if (noun === 'responses' && id === '') keep(responses, body, outcome);
  return outcome;
}

function keep(responses: StoredResponses, request: Fields, outcome: Outcome): void {
  if (outcome.kind === 'json') responses.keep(request, fieldsOrEmpty(outcome.body));
  if (outcome.kind === 'events')
    responses.keep(request, fieldsOrEmpty(fieldsOrEmpty(outcome.frames.at(-1)?.data).response));
}

/** Writes a whole library, or changes an existing one. */
function write({ libraries }: Kept, { method, url, body }: Received): Outcome {
  const [noun, id = ''] = matchKept(url);
  const before = libraries.get(id);
  if (noun !== 'libraries' || id === '' || (method === 'PATCH' && !before)) return NOT_FOUND;
  const parsed = parseJsonText(body.toString());
  if (!parsed.ok) return refused(400, 'the body must be JSON');
  const library = { ...(method === 'PATCH' && before), ...fieldsOrEmpty(parsed.value), id, object: 'library' };
  remember(libraries, id, library, LIBRARIES_MAX);
  return found(library);
}

function remove({ batches, responses, libraries }: Kept, url: URL): Outcome {
  const [noun, id = ''] = matchKept(url);
  if (noun === 'libraries') return libraries.delete(id) ? found({ id, object: 'library', deleted: true }) : NOT_FOUND;
  if (noun === 'files') return found(batches.deleteFile(id));
  return noun === 'responses' ? found(responses.delete(id)) : NOT_FOUND;
}

function read({ batches, responses, libraries }: Kept, url: URL, form: ErrorForm): Outcome {
  const [noun, id, member] = matchKept(url);
  switch (noun) {
    case 'files':
      return readFiles(batches, url, id);
    case 'batches':
      return found(id === undefined ? batches.listBatches() : batches.readBatch(id));
    case 'libraries':
      return found(libraries.get(id ?? '') ?? null);
    case 'responses':
      return member === 'input_items' ? found(responses.items(id ?? '')) : readResponse(responses, url, id ?? '');
    default:
      return models(url, form);
  }
}

function readResponse(responses: StoredResponses, { searchParams }: URL, id: string): Outcome {
  if (searchParams.get('stream') !== 'true') return found(responses.read(id));
  const after = searchParams.get('starting_after');
  const frames = responses.events(id, after === null ? -1 : Number(after));
  return frames === null ? NOT_FOUND : { kind: 'events', form: 'sse', frames, words: NO_WORDS };
}

/** The form of a vendor's refusal. All three have `/v1/models`: there, the header decides. */
export function chooseErrorForm({ url: { pathname }, headers }: Received): ErrorForm {
  if (pathname.startsWith('/v1beta/openai/')) return 'google-openai';
  if (/^\/v1beta\/|^\/v1\/models\/[^/]+:/.test(pathname) || headers['x-goog-api-key'] !== undefined) return 'google';
  if (pathname.startsWith('/v1/messages') || headers['anthropic-version'] !== undefined) return 'anthropic';
  return 'openai';
}

function hasKey({ headers, url }: Received): boolean {
  const own = headers['x-api-key'] ?? headers['x-goog-api-key'] ?? url.searchParams.get('key');
  return Boolean(own) || /^Bearer \S/.test(headers.authorization ?? '');
}

function refused(status: number, message: string, field?: string): Refusal {
  return { kind: 'refused', status, message, ...(field !== undefined && { field }) };
}

function found(body: Fields | null): Outcome {
  return body === null ? NOT_FOUND : { kind: 'json', body };
}

/** A request for a model's answer, or for embeddings. */
function ask(url: URL, body: Fields): Outcome {
  const stream: StreamForm = body.stream === true ? 'sse' : null;
  switch (url.pathname) {
    case '/v1/chat/completions':
      return answer(OPENAI, body, stream);
    case '/v1beta/openai/chat/completions':
      return answer(GOOGLE_AS_OPENAI, body, stream);
    case '/v1/responses':
      return answer(RESPONSES, body, stream);
    case '/v1/responses/compact':
      return answer(COMPACTION, body, null);
    case '/v1/responses/input_tokens':
      return answer(INPUT_TOKENS, body, null);
    case '/v1/messages':
      return answer(MESSAGES, body, stream);
    case '/v1/messages/count_tokens':
      return answer(COUNT_MESSAGES, body, null);
    case '/v1/embeddings':
      return embedded(openaiEmbeddings(body, 'openai'), body.model);
    case '/v1beta/openai/embeddings':
      return embedded(openaiEmbeddings(body, 'google'), body.model);
    case '/v1beta/openai/images/generations':
      return mediaAnswer('/v1/images/generations', body, []) ?? NOT_FOUND;
    case '/v1/completions':
      return answer(COMPLETIONS, body, stream);
    case '/v1/rerank':
      return reranked(body);
    default:
      return mediaAnswer(url.pathname, body, []) ?? askGoogle(url, body);
  }
}

function askGoogle({ pathname, searchParams }: URL, body: Fields): Outcome {
  const [, name, verb] = /^\/v1(?:beta)?\/models\/([^/:]+):(\w+)$/.exec(pathname) ?? [];
  const model = decoded(name ?? '');
  switch (verb) {
    case 'generateContent':
      return answer(CONTENT, body, null, model);
    case 'streamGenerateContent':
      return answer(CONTENT, body, searchParams.get('alt') === 'sse' ? 'sse' : 'array', model);
    case 'countTokens':
      return answer(COUNT_TOKENS, body, null, model);
    case 'embedContent':
    case 'batchEmbedContents':
      return embedded(googleEmbeddings(body, model, verb === 'batchEmbedContents'), model);
    default:
      return NOT_FOUND;
  }
}

function answer(dialect: Dialect, body: Fields, form: StreamForm, named?: string): Outcome {
  const read = dialect.read(body, named);
  if (!read.ok) return refused(400, read.message, read.field);
  const words = readWords(read.prompt.last);
  if (words.status !== null) return refused(words.status, ASKED_FOR);
  const reply = replyTo(read.prompt, words);
  const { model, inputTokens, outputTokens } = reply;
  const told = { model, inputTokens, outputTokens };
  if (form === null) return { kind: 'json', body: dialect.plain(reply, body), words, told };
  return { kind: 'events', form, frames: dialect.frames(reply, body), words, told };
}

function embedded(made: Embedded, model: unknown): Outcome {
  if (!made.ok) return refused(400, made.message, made.field);
  const words = readWords({ by: 'user', text: made.first });
  if (words.status !== null) return refused(words.status, ASKED_FOR);
  const told = { model: String(model), inputTokens: made.inputTokens, outputTokens: 0 };
  return { kind: 'json', body: made.body, words, told };
}

function reranked(body: Fields): Outcome {
  const made = rerank(body);
  if (!made.ok) return refused(400, made.message, made.field);
  const words = readWords({ by: 'user', text: made.query });
  if (words.status !== null) return refused(words.status, ASKED_FOR);
  const told = { model: made.model, inputTokens: made.inputTokens, outputTokens: 0 };
  return { kind: 'json', body: made.body, words, told };
}

/** A line of a batch: the same as a plain request. */
function answerLine(path: string, body: Fields): { status: number; body: unknown } {
  const { stream: _stream, ...plain } = body;
  const outcome = BATCH_PATHS.includes(path) ? ask(new URL(path, 'http://vendor'), plain) : NOT_FOUND;
  if (outcome.kind === 'json') return { status: 200, body: outcome.body };
  const { status, message, field = null } = outcome.kind === 'refused' ? outcome : NOT_FOUND;
  return { status, body: failureBody('openai', status, message, field) };
}

/** The kind of a stored object, its id, and the request about it. */
function matchKept({ pathname }: URL): (string | undefined)[] {
  return (
    /^\/v1\/(files|batches|uploads|responses|libraries)(?:\/([\w-]+)(?:\/(\w+))?)?$/.exec(pathname)?.slice(1) ?? []
  );
}

async function upload(batches: Batches, { headers, body }: Received): Promise<Outcome> {
  const uploaded = await batches.upload(headers['content-type'] ?? '', body);
  return uploaded === null ? refused(400, 'file: must be a form with a file', 'file') : found(uploaded);
}

/** A name in a path; a broken one stays unchanged. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function readFiles(batches: Batches, { pathname }: URL, id: string | undefined): Outcome {
  if (id === undefined) return found(batches.listFiles());
  if (!pathname.endsWith('/content')) return found(batches.readFile(id));
  const content = batches.contentOf(id);
  return content === null ? NOT_FOUND : { kind: 'file', content };
}

function models({ pathname }: URL, form: ErrorForm): Outcome {
  const match = /^\/v1(?:beta)?(?:\/openai)?\/models(?:\/(?:models\/)?([^/]+))?$/.exec(pathname);
  if (!match) return NOT_FOUND;
  const [, name] = match;
  if (form === 'google-openai') return found(name === undefined ? listGoogleAsOpenai() : oneModel('openai', name));
  return found(name === undefined ? listModels(form) : oneModel(form, decoded(name)));
}
