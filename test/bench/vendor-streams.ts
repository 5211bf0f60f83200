/**
 * The events of a stream in the form of each endpoint, for the simulated vendor: forty words in ten parts, and the usage that
 * goes with them, written once so that sending them takes no time. Only a chat completion says how long the vendor took, which
 * the other forms have no member for.
 */
import { answer, type Frame, writeFrame } from '../vendors/answers.ts';
import { type Form, type Json, NOTHING_ELSE } from '../vendors/prompt.ts';

const WORDS = 40;
export const PARTS = 10;
const INPUT_TOKENS = 12;

export interface StreamForm {
  /** The events before the first part. */
  begin: string;
  /** One part, sent so long after the request. */
  part(vendorMs: number): string;
  end(vendorMs: number): string;
}

export function streamFormAt(path: string): StreamForm {
  if (path.includes(':streamGenerateContent')) return CONTENT;
  if (path.endsWith('/messages')) return MESSAGES;
  return path.endsWith('/responses') ? RESPONSES : COMPLETIONS;
}

/** The answer in so many pieces. */
function answerIn(form: Form, model: string, pieces: number) {
  const piece = 'word '.repeat(WORDS / pieces);
  const replyText = piece.repeat(pieces);
  const prompt = { ...NOTHING_ELSE, form, model, inputTokens: INPUT_TOKENS, replyText };
  return answer({ ...prompt, pieces: Array.from({ length: pieces }, () => piece) }, null);
}

const COMPLETION = answerIn('chat', 'gpt-5.2', WORDS);

/** The whole answer of a completion, without a stream. */
export const plainCompletion = (vendorMs: number): string => timed(COMPLETION.plain)(vendorMs);

/** The JSON with the time as its first member. */
function timed(json: Json): (vendorMs: number) => string {
  const members = JSON.stringify(json).slice(1);
  return (vendorMs) => `{"vendor_ms":${vendorMs},${members}`;
}

const COMPLETIONS = ((): StreamForm => {
  // The first event names the role alone, and the last the end.
  const [, first, ...rest] = COMPLETION.frames;
  const [finish, usage, done] = rest.slice(-3) as [Frame, Frame, Frame];
  const [word, end, counts] = [first, finish, usage].map((frame) => timed(frame?.data as Json));
  const event = (write: typeof word, vendorMs: number) => writeFrame({ data: write?.(vendorMs) });
  return {
    begin: '',
    part: (vendorMs) => event(word, vendorMs).repeat(WORDS / PARTS),
    end: (vendorMs) => event(end, vendorMs) + event(counts, vendorMs) + writeFrame(done),
  };
})();

/** A stream whose parts are the same each time: `begins` events come before them. */
function untimed(form: Form, model: string, begins: number): StreamForm {
  const events = answerIn(form, model, PARTS).frames.map(writeFrame);
  const part = events[begins] ?? '';
  const end = events.slice(begins + PARTS).join('');
  return { begin: events.slice(0, begins).join(''), part: () => part, end: () => end };
}

const RESPONSES = untimed('responses', 'gpt-5.2', 3);
const MESSAGES = untimed('messages', 'claude-sonnet-5-5', 3);
const CONTENT = untimed('content', 'gemini-3.8-flash', 0);
