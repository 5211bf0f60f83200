/**
 * The beginning of an answer: whether it is events, JSON or something else, judged by its bytes and not by its headers;
 * and its first event, so that it can be judged before any of it is passed on.
 */
import { type ByteSource, ReplayedBytes } from './byte-source.ts';
import { EventBlocks, type StreamEvent } from './event-blocks.ts';

export interface Opening {
  content: 'events' | 'json' | 'other';
  /** `null` if the answer has no events, or none came in time. */
  first: StreamEvent | null;
  /** The whole answer, from its first byte on. */
  body: ByteSource;
}

/** More bytes are not kept back. */
const KEPT_BACK_BYTES_MAX = 64 * 1024;
/** A vendor that sends nothing for this long is passed on unjudged: callers wait for the headers. */
const KEPT_BACK_MS_MAX = 20_000;
/** A field of an event, or a comment between events. */
const EVENT_LINE = /^(?:data|event|id|retry)?:/;
/** Long enough for the name of a field. */
const LINE_LENGTH = 8;

/** The forms of answer that the caller expects. */
export interface Expected {
  /** A text may be the answer, so only a content type makes it events. */
  isText: boolean;
  /** Sound or pictures may be the answer, with any bytes: they are not judged if their content type says so. */
  isBinary: boolean;
}

/** Content of any bytes. */
const BINARY = /^\s*(?:audio|image|video)\/|octet-stream/i;

/**
 * Reads until the content is known and, for events, until the first has arrived. Throws if the answer breaks off
 * before.
 */
export async function readOpening(
  reader: ByteSource,
  contentType: string,
  { isText, isBinary }: Expected,
  msMax = KEPT_BACK_MS_MAX,
): Promise<Opening> {
  const isEvents = /event-stream/i.test(contentType);
  if (isBinary && BINARY.test(contentType))
    return { content: 'other', first: null, body: new ReplayedBytes([], reader) };
  const byHeader = isEvents ? 'events' : /\bjson\b/i.test(contentType) ? 'json' : 'other';
  const kept: Uint8Array[] = [];
  const blocks = new EventBlocks();
  const decoder = new TextDecoder();
  const timer = timeout(msMax);
  let head = '';
  let content: Opening['content'] | null = null;
  let bytes = 0;
  try {
    while (bytes < KEPT_BACK_BYTES_MAX) {
      const reading = reader.read();
      const next = await Promise.race([reading, timer.over]);
      if (next === 'late')
        return {
          content: content ?? byHeader,
          first: null,
          body: new ReplayedBytes(kept, reader, { pending: reading }),
        };
      if (next.done) break;
      const chunk = next.value.slice();
      kept.push(chunk);
      bytes += chunk.length;
      if (content === null) {
        head += decoder.decode(chunk, { stream: true });
        content = detectContent(head, isEvents, isText);
      }
      if (content === 'json' || content === 'other')
        return { content, first: null, body: new ReplayedBytes(kept, reader) };
      const first = blocks.push(chunk).find(({ event }) => event !== null)?.event;
      if (first) return { content: 'events', first, body: new ReplayedBytes(kept, reader) };
    }
  } finally {
    timer.lift();
  }
  const last = blocks.end().find(({ event }) => event !== null)?.event ?? null;
  const body = new ReplayedBytes(kept, reader);
  return { content: content ?? byHeader, first: content === 'events' ? last : null, body };
}

/** `null` while it is not known. */
function detectContent(head: string, isEvents: boolean, isText: boolean): Opening['content'] | null {
  const text = head.trimStart();
  if (text === '') return null;
  if (/^[{[]/.test(text)) return 'json';
  if (isEvents) return 'events';
  if (isText) return 'other';
  if (EVENT_LINE.test(text)) return 'events';
  return text.length < LINE_LENGTH && /^[a-z]*$/.test(text) ? null : 'other';
}

function timeout(ms: number): { over: Promise<'late'>; lift(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  return { over, lift: () => clearTimeout(timer) };
}
