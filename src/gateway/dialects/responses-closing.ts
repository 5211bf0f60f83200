/**
 * The early end of a streamed response: open parts are closed with their text so far, and the response is incomplete
 * for the reason `max_output_tokens`, as OpenAI ends a response at the bound of its output.
 */
import { serializeEvent } from '../../vendors/event-blocks.ts';
import { type Fields, fieldsOrEmpty, isFields, listOrEmpty, textOrEmpty } from '../../vendors/usage/figures.ts';
import type { Stopped, StreamClosing } from './dialect.ts';

/**
 * The most characters of output that are kept of one stream: several times the longest text answers. If a stream is
 * longer or has pictures, only its response is closed, without its output.
 */
const KEPT_LENGTH_MAX = 4 * 1024 * 1024;

/** A list of parts in an item, and the member of events that identifies the part. */
type PartList = 'content' | 'summary';
const INDEX = { content: 'content_index', summary: 'summary_index' } as const;

/** The kinds of parts, with the members that their text has in the part and in the event that ends it. */
const PARTS = new Map<unknown, { list: PartList; text: 'text' | 'refusal'; done: string; empty: Fields }>([
  [
    'output_text',
    { list: 'content', text: 'text', done: 'response.output_text.done', empty: { annotations: [], logprobs: [] } },
  ],
  ['refusal', { list: 'content', text: 'refusal', done: 'response.refusal.done', empty: {} }],
  ['reasoning_text', { list: 'content', text: 'text', done: 'response.reasoning_text.done', empty: {} }],
  ['summary_text', { list: 'summary', text: 'text', done: 'response.reasoning_summary_text.done', empty: {} }],
]);
const PART_DONE = { content: 'response.content_part.done', summary: 'response.reasoning_summary_part.done' } as const;

/** The part of an item to which each delta is added. */
const DELTAS_OF_PARTS = new Map<unknown, string>([
  ['response.output_text.delta', 'output_text'],
  ['response.refusal.delta', 'refusal'],
  ['response.reasoning_text.delta', 'reasoning_text'],
  ['response.reasoning_summary_text.delta', 'summary_text'],
]);
/** A member of an item to which deltas are added, and the event that ends it. */
interface Growing {
  member: 'arguments' | 'input';
  done: string;
}

/** The member of the item itself to which each delta is added. */
const DELTAS_OF_ITEMS = new Map<unknown, Growing>([
  ['response.function_call_arguments.delta', { member: 'arguments', done: 'response.function_call_arguments.done' }],
  ['response.custom_tool_call_input.delta', { member: 'input', done: 'response.custom_tool_call_input.done' }],
]);

interface Item {
  item: Fields;
  /** The parts that have begun, by their place. */
  parts: Record<PartList, Map<number, { part: Fields; open: boolean }>>;
  growing: Growing | null;
  open: boolean;
}

export class ResponseClosing implements StreamClosing {
  #response: Fields = { object: 'response' };
  #sequence = -1;
  #keptLength = 0;
  readonly #items = new Map<number, Item>();

  passed(event: Fields, data: string): void {
    if (typeof event.sequence_number === 'number') this.#sequence = event.sequence_number;
    if (isFields(event.response)) this.#response = event.response;
    if (typeof event.output_index !== 'number') return;
    this.#keptLength += (typeof event.delta === 'string' ? event.delta : data).length;
    if (this.#keptLength > KEPT_LENGTH_MAX) this.#items.clear();
    else this.#follow(event, event.output_index);
  }

  #follow(event: Fields, index: number): void {
    const type = textOrEmpty(event.type);
    if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      this.#items.set(index, buildItem(fieldsOrEmpty(event.item), type === 'response.output_item.added'));
      return;
    }
    const item = this.#items.get(index);
    if (!item) return;
    const growing = DELTAS_OF_ITEMS.get(type);
    const partType = DELTAS_OF_PARTS.get(type);
    if (growing) {
      item.growing = growing;
      item.item[growing.member] = joinedText(item.item[growing.member], event.delta);
    } else if (partType !== undefined) addToPart(item, partType, event);
    else if (isFields(event.part)) {
      const isOpen = type.endsWith('.added');
      const list = type.startsWith('response.reasoning_summary') ? 'summary' : 'content';
      item.parts[list].set(partIndex(event, list), { part: event.part, open: isOpen });
    } else if (isFields(event.annotation)) annotate(item, event);
  }

  close({ code, usage }: Stopped): string {
    const items = [...this.#items].sort(([one], [other]) => one - other);
    const ends = items.flatMap(([index, item]) => (item.open ? endItem(item, index) : []));
    const isKept = this.#keptLength <= KEPT_LENGTH_MAX;
    const { output: _output, ...response } = this.#response;
    const last = {
      type: 'response.incomplete',
      response: {
        ...response,
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        ...(isKept && { output: items.map(([, item]) => (item.open ? incomplete(item) : item.item)) }),
        usage: usage && responseUsage(usage),
      },
      service: { code, ...(usage && { usageSource: usage.source }) },
    };
    const events: Fields[] = [...ends, last];
    return events.map((event) => this.#serialized(event)).join('');
  }

  #serialized({ type, ...event }: Fields): string {
    this.#sequence += 1;
    const data = JSON.stringify({ type, sequence_number: this.#sequence, ...event });
    return serializeEvent({ event: String(type), data });
  }
}

function buildItem(item: Fields, open: boolean): Item {
  const begun = (list: PartList) =>
    new Map(listOrEmpty(item[list]).map((part, place) => [place, { part: fieldsOrEmpty(part), open: false }]));
  return { item: { ...item }, parts: { content: begun('content'), summary: begun('summary') }, growing: null, open };
}

function addToPart({ parts }: Item, type: string, event: Fields): void {
  const kind = PARTS.get(type);
  if (!kind) return;
  const place = partIndex(event, kind.list);
  // Some vendors do not announce the beginning of a part.
  const found = parts[kind.list].get(place) ?? { part: { type, [kind.text]: '', ...kind.empty }, open: true };
  parts[kind.list].set(place, {
    part: { ...found.part, [kind.text]: joinedText(found.part[kind.text], event.delta) },
    open: true,
  });
}

function annotate({ parts }: Item, event: Fields): void {
  const found = parts.content.get(partIndex(event, 'content'));
  if (found) found.part = { ...found.part, annotations: [...listOrEmpty(found.part.annotations), event.annotation] };
}

function partIndex(event: Fields, list: PartList): number {
  const place = event[INDEX[list]];
  return typeof place === 'number' ? place : 0;
}

function joinedText(before: unknown, delta: unknown): string {
  return `${typeof before === 'string' ? before : ''}${typeof delta === 'string' ? delta : ''}`;
}

/** The events that end an open item: its open parts, its accumulated members, and the item itself. */
function endItem(item: Item, index: number): Fields[] {
  const at = { item_id: item.item.id, output_index: index };
  const { growing } = item;
  const added = growing && { type: growing.done, ...at, [growing.member]: item.item[growing.member] };
  return [
    ...partEnds(item, 'summary', at),
    ...partEnds(item, 'content', at),
    // OpenAI repeats the name of a function with its arguments.
    ...(added ? [{ ...added, ...(growing.member === 'arguments' && { name: item.item.name }) }] : []),
    { type: 'response.output_item.done', output_index: index, item: incomplete(item) },
  ];
}

function partEnds({ parts }: Item, list: PartList, at: Fields): Fields[] {
  return [...parts[list]].flatMap(([place, { part, open }]) => {
    if (!open) return [];
    const where = { ...at, [INDEX[list]]: place };
    const kind = PARTS.get(part.type);
    const textDone = kind && {
      type: kind.done,
      ...where,
      [kind.text]: part[kind.text] ?? '',
      ...(part.logprobs !== undefined && { logprobs: part.logprobs }),
    };
    return [...(textDone ? [textDone] : []), { type: PART_DONE[list], ...where, part }];
  });
}

function incomplete({ item, parts }: Item): Fields {
  const listed = (list: PartList) => {
    const begun = [...parts[list]].sort(([one], [other]) => one - other).map(([, { part }]) => part);
    return begun.length === 0 ? {} : { [list]: begun };
  };
  return { ...item, ...listed('summary'), ...listed('content'), status: 'incomplete' };
}

function responseUsage({ figures }: NonNullable<Stopped['usage']>): Fields {
  const { inputTokens, cachedInputTokens, responseTokens, reasoningTokens } = figures;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: responseTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + responseTokens,
  };
}
