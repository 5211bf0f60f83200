/**
 * The most that a request can make its vendor bill, component by component, in the components that a price has rates
 * for.
 *
 * Each kind of bill has one entry here; the compiler names a missing one. A use without a bound, or for which no price
 * can have a rate, is named in `open`: credit does not pay for it unless the organization opens it by that name.
 */
import { isGeminiBefore3 } from '../../catalog/provider-rules.ts';
import type { Demand, NeededRate, OpenCost } from '../../domain/bound.ts';
import type { Component } from '../../domain/price.ts';
import type { ServiceTier, Speed } from '../../domain/usage.ts';
import type { VendorKind } from '../../domain/vendor-kind.ts';
import { isSearchModel, requestedCapabilities } from '../../vendors/capabilities.ts';
import { COUNT_MAX, fieldsOrEmpty, isFields, readServiceTier, textOrEmpty } from '../../vendors/usage/figures.ts';
import { type Endpoint, endpointAt, fieldsAt } from './endpoints.ts';
import { dataUrlMediaType } from './media-tokens.ts';
import { readPositive } from './output.ts';
import { fieldName, type Place, type ReadRequest, readRequest } from './read.ts';
import { type Addressed, isDirect, mayRunInRegion } from './region.ts';
import type { Bill } from './rules.ts';
import { leavesTier, readUses, SAFE_SERVICE_TIERS, USES_SET } from './safe.ts';

export interface Asked extends Addressed {
  /** The path of the endpoint's address. */
  path: string;
  /** The vendor gets another body, which Callmeter has not read. */
  isUnread?: boolean;
  /** The names of headers that the caller chooses. */
  headers?: readonly string[];
  /** The vendor gets the request unchanged: `safe.ts` changes nothing. */
  asIs: boolean;
}

/** The most searches of a model, or of a field, that searches before it answers. */
export const USES_OF_SEARCH_MODEL = 5;

/** The demand besides the tokens of the prompt and of the answers. */
export interface Extras extends Omit<Demand, 'inputTokens'> {
  /** Only the vendor knows a part of the prompt: it can be as long as the model's context. */
  fillsContext: boolean;
}

export function findExtras(asked: Asked): Extras {
  const endpoint = endpointAt(asked.path);
  if (endpoint === undefined) return { ...NOTHING, fillsContext: true, open: [UNKNOWN_ENDPOINT] };
  const read = readRequest(fieldsAt(endpoint, asked.kind), asked.body);
  const context: Context = { ...asked, endpoint, read };
  const parts = [...read.bills].map(([bill, places]) => BILLED[bill](places, context));
  const open = [...read.unknown, ...unknownBeside(asked)].map((path): OpenCost => {
    const name = fieldName(endpoint.name, path);
    return { code: 'BOUND_UNKNOWN', component: name, name, param: path };
  });
  const isOpen = open.length > 0;
  const extras = merged([boundAnswers(context), searchesOfModel(context), ...parts, { open, fillsContext: isOpen }]);
  return {
    ...extras,
    input: [...(mayCache(context, extras) ? CACHED : []), ...extras.input],
    anyRegion: isOpen || mayRunInRegion(asked),
  };
}

/** Headers and members of the query that cost nothing: credentials, versions, labels, and how the answer is sent. */
const HEADERS =
  /^(?:accept|accept-encoding|accept-language|authorization|api-key|x-api-key|x-goog-api-key|x-goog-api-client|content-type|user-agent|anthropic-(?:version|beta|dangerous-direct-browser-access)|openai-(?:organization|project|beta)|x-(?:client-)?request-id|idempotency-key|traceparent|tracestate|baggage|http-referer|referer|x-title|x-app|x-stainless-[a-z-]+)$/;
const QUERY = /^(?:alt|key|api-version|beta)$/;

/**
 * Whether the table lacks a header, a member of the query, or the body. Their names may be secret, so they are not
 * reported.
 */
function unknownBeside({ path, headers = [], isUnread = false }: Asked): string[] {
  const [, query = ''] = /\?([^#]*)/s.exec(path) ?? [];
  const members = [...new URLSearchParams(query).keys()];
  return [
    ...(isUnread ? ['body'] : []),
    ...(headers.every((name) => HEADERS.test(name.toLowerCase())) ? [] : ['headers']),
    ...(members.every((name) => QUERY.test(name)) ? [] : ['query']),
  ];
}

interface Context extends Asked {
  endpoint: Endpoint;
  read: ReadRequest;
}

type Part = Partial<Omit<Extras, 'anyRegion'>>;

const CACHED: readonly Component[] = ['cachedInput', 'cacheWrite'];

const NOTHING: Extras = {
  fillsContext: false,
  rates: [],
  input: CACHED,
  output: [],
  outputBeside: 0,
  uses: {},
  serviceTiers: ['standard'],
  speeds: ['standard'],
  anyRegion: true,
  open: [],
};

const UNKNOWN_ENDPOINT: OpenCost = { code: 'BOUND_UNKNOWN', component: 'endpoint', name: 'component:endpoint' };

/** The demand that each kind of bill adds. */
const BILLED: { readonly [Name in Bill]: (places: readonly Place[], context: Context) => Part } = {
  image: ([place], { kind, endpoint }) =>
    endpoint.answers === 'pictures'
      ? { input: IMAGES, rates: needed(['imageInput', 'images'], place?.path) }
      : imageInput(kind, place),
  audio: ([place], { endpoint }) => (endpoint.answers === 'transcript' ? {} : audioInput(place)),
  // A film has pictures and sound.
  video: ([place], { kind }) => merged([imageInput(kind, place), audioInput(place), FILLS_CONTEXT]),
  blob: (places, { kind }) => merged(places.map((place) => blobInput(place, kind))),
  stored: () => STORED,
  storedPrompt: ([place]) => merged([STORED, { open: [openCost('BOUND_UNKNOWN', 'storedPrompt', place?.path)] }]),
  // `output.ts` counts them if they are a number.
  answers: (places) => {
    const broken = places.find(({ value }) => readPositive(value) === null);
    return broken ? { open: [openCost('BOUND_UNKNOWN', 'answers', broken.path)] } : {};
  },
  outputBound: () => ({}),
  prediction: (places) => ({ outputBeside: sum(places.map(({ value }) => countBytes(value))) }),
  modalities: (places) =>
    // Google's JSON takes a word for a list with one word.
    merged(places.flatMap(({ value, path }) => [value].flat().map((word) => modality(word, path)))),
  spoken: ([place]) => spoken(place?.path),
  // Google's JSON may have the field twice, in both spellings.
  serviceTier: (places, { kind }) => ({
    serviceTiers: places.flatMap(({ value }) => possibleServiceTiers(kind, value)),
    conditionFields: { ...(places[0] && { serviceTier: places[0].path }) },
  }),
  speed: ([place]) => ({
    speeds: place?.value === 'standard' ? ['standard'] : ['fast', 'standard'],
    conditionFields: { ...(place && { speed: place.path }) },
  }),
  // `mayCache` reads it.
  cacheMark: () => ({}),
  cacheLifetime: (places) => merged(places.map(cacheWrites)),
  hosted: () => FILLS_CONTEXT,
  webSearch: (places, context) => merged([FILLS_CONTEXT, searches(places, context)]),
  fileSearch: (places, context) => merged([FILLS_CONTEXT, boundToolUses('fileSearch', places, context)]),
  code: ([place]) => ({
    fillsContext: true,
    rates: needed(['codeMinutes'], place?.path),
    open: [openCost('BOUND_UNKNOWN', 'codeMinutes', place?.path)],
  }),
  maps: ([place]) => unpriceable('maps', place),
  drawing: ([place]) => unpriceable('imageGeneration', place),
  usesBound: () => ({}),
  otherModel: ([place]) => unpriceable('otherModel', place),
  reasoningMode: ([place]) => (place?.value === 'standard' ? {} : unpriceable('reasoningMode', place)),
};

const FILLS_CONTEXT: Part = { fillsContext: true };
const IMAGES: readonly Component[] = ['imageInput', 'cachedImageInput'];
const SOUNDS: readonly Component[] = ['audioInput', 'cachedAudioInput'];
const STORED: Part = { ...FILLS_CONTEXT, input: [...IMAGES, ...SOUNDS] };

const needed = (of: readonly Component[], param?: string): NeededRate[] => [
  { of, ...(param !== undefined && { param }) },
];
const audioInput = (place: Place | undefined): Part => ({ input: SOUNDS, rates: needed(['audioInput'], place?.path) });
const spoken = (param?: string): Part => ({ output: ['audioOutput'], rates: needed(['audioOutput'], param) });

function openCost(code: OpenCost['code'], component: string, param: string | undefined): OpenCost {
  return { code, component, name: `component:${component}`, ...(param !== undefined && { param }) };
}

/** In conversations Google tells images from text in its usage; the others count them as text. */
function imageInput(kind: VendorKind, place: Place | undefined): Part {
  const isTold = kind === 'google' || kind === 'vertex';
  return { input: IMAGES, ...(isTold && { rates: needed(['imageInput'], place?.path) }) };
}

/** Media types of text and of documents, which cost the tokens of their text and pictures. */
const DOCUMENT =
  /^(?:text\/.+|application\/(?:pdf|json|xml|yaml|x-yaml|rtf|javascript|x-javascript|x-python|x-sh|x-typescript|x-latex|typescript|csv|sql|msword|vnd\.(?:ms-(?:excel|powerpoint)|openxmlformats-officedocument\.[a-z.]+|oasis\.opendocument\.(?:text|spreadsheet|presentation))|[a-z0-9.-]+\+(?:json|xml)))$/;

/** Content with its media type: in Google's form, in one or two spellings, or as a `data:` URL. */
function blobInput(place: Place, kind: VendorKind): Part {
  const { value } = place;
  // Text that is not such a URL is read as text.
  if (typeof value === 'string') return ofMediaType(dataUrlMediaType(value) || 'text/plain', place, kind);
  const { mimeType, mime_type = mimeType } = fieldsOrEmpty(value);
  return merged([mimeType ?? mime_type, mime_type].map((type) => ofMediaType(textOrEmpty(type), place, kind)));
}

function ofMediaType(named: string, place: Place, kind: VendorKind): Part {
  const type = named.toLowerCase().replace(/\s*;.*$/s, '');
  if (type.startsWith('image/')) return imageInput(kind, place);
  if (type.startsWith('audio/')) return audioInput(place);
  if (DOCUMENT.test(type)) return {};
  // A film, or content of an unknown type.
  return merged([imageInput(kind, place), audioInput(place), FILLS_CONTEXT]);
}

function modality(word: unknown, path: string): Part {
  switch (textOrEmpty(word).toLowerCase()) {
    case 'text':
      return {};
    case 'audio':
      return spoken(path);
    case 'image':
      return { output: ['imageOutput'], rates: needed(['imageOutput'], path) };
    default:
      return { open: [openCost('MODEL_NOT_PRICED', 'modality', path)] };
  }
}

function cacheWrites({ value: lifetime, path }: Place): Part {
  switch (lifetime) {
    case '1h':
      return { input: ['cacheWrite1h'], rates: needed(['cacheWrite1h'], path) };
    case '12h':
      return { input: ['cacheWrite12h'], rates: needed(['cacheWrite12h'], path) };
    case '5m':
    case '30m':
      return {};
    default:
      return { open: [openCost('BOUND_UNKNOWN', 'cacheWrite', path)] };
  }
}

/**
 * Whether the vendor may take text from its cache, or write it there. Anthropic does so if the request has a mark, and with
 * what its own tools find (platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool shows such usage); the
 * others do it by themselves.
 */
function mayCache(asked: Context, { fillsContext }: Pick<Extras, 'fillsContext'>): boolean {
  return !(asked.kind === 'anthropic' && isDirect(asked)) || fillsContext || asked.read.bills.has('cacheMark');
}

/** The tiers that can serve the request: the one that it names, and the standard one, on which vendors fall back. */
function possibleServiceTiers(kind: VendorKind, word: unknown): ServiceTier[] {
  const safe = SAFE_SERVICE_TIERS[kind];
  if (safe !== undefined && (leavesTier(word) || word === safe)) return ['standard'];
  const { serviceTier = 'standard' } = readServiceTier(word);
  return [...new Set<ServiceTier>([serviceTier, 'standard'])];
}

/** A use for which no price has a rate. */
function unpriceable(component: string, place: Place | undefined): Part {
  return { fillsContext: true, open: [openCost('MODEL_NOT_PRICED', component, place?.path)] };
}

/**
 * Web searches: of tools with a bound, of a field that searches before the answer, or one for each prompt of Google's
 * older models.
 */
function searches(places: readonly Place[], context: Context): Part {
  const { endpoint, model } = context;
  const live = places.find(({ path }) => path === 'search_parameters');
  const others = places.filter((place) => place !== live);
  if (live) return merged([searchedSources(live), ...(others.length > 0 ? [searches(others, context)] : [])]);
  const rates = needed(['webSearch'], places[0]?.path);
  if (endpoint.name === 'chat') return { uses: { webSearch: USES_OF_SEARCH_MODEL }, rates };
  if (endpoint.name === 'generateContent' && isGeminiBefore3(model)) return { uses: { webSearch: 1 }, rates };
  return boundToolUses('webSearch', places, context);
}

/** xAI's live search, which is billed by the source. */
function searchedSources({ path, value }: Place): Part {
  const { mode, max_search_results: sources } = fieldsOrEmpty(value);
  if (mode === 'off') return {};
  const most = readUses(sources);
  const rates = needed(['webSearch'], path);
  return most === undefined
    ? { rates, open: [openCost('BOUND_UNKNOWN', 'webSearch', path)] }
    : { rates, uses: { webSearch: most } };
}

/** A model that searches in every call. */
function searchesOfModel({ model, body, read }: Context): Part {
  const isAsked = read.bills.has('webSearch');
  if (isAsked || !(isSearchModel(model) || requestedCapabilities({ model, body }).includes('search'))) return {};
  return merged([FILLS_CONTEXT, { uses: { webSearch: USES_OF_SEARCH_MODEL }, rates: needed(['webSearch']) }]);
}

/** Uses of a hosted tool: as many as the request allows, or as many as `safe.ts` makes it allow. */
function boundToolUses(component: Component, places: readonly Place[], { kind, body, endpoint, asIs }: Context): Part {
  const set = USES_SET[endpoint.name];
  const settable = !asIs && set?.kinds.includes(kind) ? set.uses : undefined;
  const each = places.map(({ value }) => readUses(fieldsOrEmpty(value).max_uses) ?? settable);
  const ofEach = each.every((uses) => uses !== undefined) ? sum(each) : undefined;
  // A bound of all tools counts only for kinds of vendors that are known to keep it.
  const ofAll = set?.kinds.includes(kind) ? (readUses(body.max_tool_calls) ?? settable) : undefined;
  const uses = endpoint.name === 'responses' ? ofAll : ofEach;
  const param = places[0]?.path;
  const rates = needed([component], param);
  return uses === undefined
    ? { rates, open: [openCost('BOUND_UNKNOWN', component, param)] }
    : { rates, uses: { [component]: uses } };
}

/**
 * The kinds of output, and the kinds for which the price needs a rate. Usage reports tokens of pictures and sound apart
 * from text, so a text rate does not cover them.
 */
function boundAnswers({ endpoint, model, body }: Context): Part {
  switch (endpoint.answers) {
    case 'text': {
      // A model that draws or speaks without being asked.
      const unasked = requestedCapabilities({ model, body: {} });
      const output: Component[] = [
        ...(unasked.includes('image') ? (['imageOutput'] as const) : []),
        ...(unasked.includes('audio') ? (['audioOutput'] as const) : []),
      ];
      return { output, rates: needed(['output', ...output]) };
    }
    case 'pictures': {
      const n = readPositive(body.n) ?? 1;
      return {
        output: ['imageOutput'],
        input: IMAGES,
        uses: { images: n },
        rates: needed(['imageOutput', 'images']),
      };
    }
    case 'sound':
      return {
        output: ['audioOutput'],
        uses: { characters: typeof body.input === 'string' ? body.input.length : countBytes(body.input) },
        rates: needed(['audioOutput', 'characters']),
      };
    case 'transcript':
      return { input: ['audioInput'], rates: needed(['audioInput', 'audioSeconds']) };
    case 'nothing':
      return {};
  }
}

/** Merges parts: all components, the sum of the uses, and everything that is open. */
function merged(parts: readonly Part[]): Omit<Extras, 'anyRegion'> {
  const uses: Demand['uses'] = {};
  for (const part of parts)
    for (const [component, quantity] of Object.entries(part.uses ?? {}))
      uses[component as Component] = Math.min(COUNT_MAX, (uses[component as Component] ?? 0) + quantity);
  return {
    fillsContext: parts.some(({ fillsContext }) => fillsContext),
    rates: parts.flatMap((part) => part.rates ?? []),
    input: [...new Set(parts.flatMap((part) => part.input ?? []))],
    output: [...new Set(parts.flatMap((part) => part.output ?? []))],
    outputBeside: sum(parts.map(({ outputBeside = 0 }) => outputBeside)),
    uses,
    serviceTiers: [...new Set<ServiceTier>([...parts.flatMap((part) => part.serviceTiers ?? []), 'standard'])],
    speeds: [...new Set<Speed>([...parts.flatMap((part) => part.speeds ?? []), 'standard'])],
    conditionFields: Object.assign({}, ...parts.map((part) => part.conditionFields)),
    open: parts.flatMap((part) => part.open ?? []),
  };
}

function sum(counts: readonly number[]): number {
  return Math.min(
    COUNT_MAX,
    counts.reduce((all, count) => all + count, 0),
  );
}

/** A text has at most as many tokens as bytes. */
function countBytes(value: unknown): number {
  if (typeof value === 'string') return new TextEncoder().encode(value).byteLength;
  if (Array.isArray(value)) return sum(value.map(countBytes));
  return isFields(value) ? sum(Object.values(value).map(countBytes)) : 0;
}
