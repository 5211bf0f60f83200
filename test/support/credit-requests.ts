/**
 * Small requests for each thing that a vendor can bill, at each endpoint that can ask for it, with their vendors'
 * reports. credit-table.ts decides whether credit pays for them.
 */
import { FORMS } from '../../src/contract/credit-open.ts';
import type { Usage } from '../../src/domain/usage.ts';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import type { EndpointName } from '../../src/gateway/demand/endpoints.ts';
import { PieceBytes } from '../../src/platform/byte-source.ts';
import type { FormFile } from '../../src/platform/form-file.ts';
import { FLAC, mp3 } from './recordings.ts';

type Fields = Record<string, unknown>;

/** A request for something besides text, and its vendor's report. */
export interface Probe {
  /** Fields besides those of the plain request, or in their place. */
  fields?: Fields;
  usage?: Partial<Usage>;
  /** In place of the endpoint's model. */
  model?: string;
  /** The line of a batch. */
  inBatch?: true;
}

export interface Row {
  what: string;
  /** At an endpoint that is missing nothing of the kind can be asked for. */
  at: Partial<Record<EndpointName, Probe | readonly Probe[]>>;
}

interface Asked {
  path: string;
  kind: VendorKind;
  model: string;
  /** A plain request. */
  body: Fields;
  usage: Partial<Usage>;
}

const TEXT = 'What is the capital of France?';
const TEXT_USAGE = { inputTokens: 100, responseTokens: 10 };
const DATA = Buffer.from('a small file').toString('base64');
const formFile = (fileName: string, contentType: string, content = new Uint8Array(1_000)): FormFile => ({
  fileName,
  contentType,
  bytes: content.length,
  head: content.subarray(0, 48),
  content: new PieceBytes([content], content.length),
});
const PNG = `data:image/png;base64,${DATA}`;
const PDF = `data:application/pdf;base64,${DATA}`;

export const ASKED: Readonly<Record<EndpointName, Asked>> = {
  chat: {
    path: 'chat/completions',
    kind: 'openai',
    model: 'gpt-6-luna',
    body: { messages: [{ role: 'user', content: TEXT }], max_completion_tokens: 100 },
    usage: TEXT_USAGE,
  },
  responses: {
    path: 'responses',
    kind: 'openai',
    model: 'gpt-6-luna',
    body: { input: TEXT, max_output_tokens: 100 },
    usage: TEXT_USAGE,
  },
  compact: {
    path: 'responses/compact',
    kind: 'openai',
    model: 'gpt-6-luna',
    body: { input: TEXT },
    usage: TEXT_USAGE,
  },
  messages: {
    path: 'messages',
    kind: 'anthropic',
    model: 'claude-sonnet-5-5',
    body: { messages: [{ role: 'user', content: TEXT }], max_tokens: 100 },
    usage: TEXT_USAGE,
  },
  generateContent: {
    path: ':generateContent',
    kind: 'google',
    model: 'gemini-3.8-flash',
    body: { contents: [{ role: 'user', parts: [{ text: TEXT }] }], generationConfig: { maxOutputTokens: 100 } },
    usage: TEXT_USAGE,
  },
  completions: {
    path: 'completions',
    kind: 'openai',
    model: 'gpt-3.5-turbo-instruct',
    body: { prompt: TEXT, max_tokens: 100 },
    usage: TEXT_USAGE,
  },
  embeddings: {
    path: 'embeddings',
    kind: 'openai',
    model: 'text-embedding-3-small',
    body: { input: TEXT },
    usage: { inputTokens: 100 },
  },
  embedContent: {
    path: ':embedContent',
    kind: 'google',
    model: 'gemini-embedding-2',
    body: { content: { parts: [{ text: TEXT }] } },
    usage: { inputTokens: 100 },
  },
  images: {
    path: 'images/generations',
    kind: 'openai',
    model: 'gpt-image-2',
    body: { prompt: TEXT },
    usage: { inputTokens: 100, responseTokens: 10, imageOutputTokens: 10 },
  },
  imageEdits: {
    path: 'images/edits',
    kind: 'openai',
    model: 'gpt-image-2',
    body: { prompt: TEXT, image: formFile('a.png', 'image/png') },
    usage: { inputTokens: 100, imageInputTokens: 50, responseTokens: 10, imageOutputTokens: 10 },
  },
  speech: {
    path: 'audio/speech',
    kind: 'openai',
    model: 'gpt-4o-mini-tts',
    body: { input: TEXT, voice: 'alloy' },
    usage: { inputTokens: 100, responseTokens: 10, audioOutputTokens: 10 },
  },
  transcriptions: {
    path: 'audio/transcriptions',
    kind: 'openai',
    model: 'gpt-4o-transcribe',
    body: { file: formFile('a.mp3', 'audio/mpeg', mp3(1)) },
    usage: { inputTokens: 10, audioInputTokens: 10, responseTokens: 10 },
  },
  moderations: {
    path: 'moderations',
    kind: 'openai',
    model: 'omni-moderation-latest',
    body: { input: TEXT },
    usage: { inputTokens: 100 },
  },
};

const inChat = (...parts: Fields[]): Fields => ({ messages: [{ role: 'user', content: parts }] });
const inResponses = (...parts: Fields[]): Fields => ({ input: [{ role: 'user', content: parts }] });
const inContents = (...parts: Fields[]): Fields => ({ contents: [{ role: 'user', parts }] });
const tool = (...tools: Fields[]): Fields => ({ tools });
/** Tools that an item of the input brings. */
const broughtTool = (...tools: Fields[]): Fields => ({ input: [{ type: 'additional_tools', tools }] });
const config = (fields: Fields): Fields => ({ generationConfig: { maxOutputTokens: 100, ...fields } });
const CACHED = { usage: { cachedInputTokens: 50 } };
const WRITTEN = { usage: { cacheWriteInputTokens: 50 } };
const MARKED = { role: 'user', content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }] };
const image = { imageInputTokens: 50 };
const SOUND = { fields: inContents({ inlineData: { mimeType: 'audio/mp3', data: DATA } }) };
const heard = { audioInputTokens: 50 };
const FILM = { fields: inContents({ inlineData: { mimeType: 'video/mp4', data: DATA } }) };
const SPOKEN = { usage: { audioOutputTokens: 10 } };
const DRAWN = { usage: { imageOutputTokens: 10 } };
const WEB_SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const FROM_TOMORROW = { fields: { from_tomorrow: 1 } };

export const CONVERSATIONS = ['chat', 'responses', 'messages', 'generateContent'] as const;
export const OTHERS = FORMS.filter((name) => CONVERSATIONS.every((other) => other !== name));

export const ROWS: readonly Row[] = [
  {
    what: 'Text',
    at: Object.fromEntries([...CONVERSATIONS, ...OTHERS].map((name) => [name, name === 'transcriptions' ? [] : {}])),
  },
  {
    what: 'Several answers',
    at: {
      chat: { fields: { n: 2 } },
      generateContent: { fields: config({ candidateCount: 2 }) },
      completions: { fields: { n: 2, best_of: 2 } },
      images: { fields: { n: 2 } },
      imageEdits: { fields: { n: 2 } },
    },
  },
  {
    what: 'Text that the vendor had in its cache',
    at: {
      chat: [CACHED, { ...CACHED, model: 'gpt-5.5-pro' }],
      responses: [CACHED, { ...CACHED, model: 'gpt-5.5-pro' }],
      compact: CACHED,
      messages: CACHED,
      generateContent: CACHED,
    },
  },
  {
    what: 'Writes to the cache for minutes',
    at: {
      chat: { fields: { messages: [MARKED] }, ...WRITTEN },
      responses: WRITTEN,
      messages: { fields: { cache_control: { type: 'ephemeral', ttl: '5m' } }, ...WRITTEN },
    },
  },
  {
    what: 'Writes to the cache for an hour, or for twelve',
    at: {
      chat: [
        { fields: { prompt_cache_options: { ttl: '12h' } } },
        {
          fields: { prompt_cache_options: { ttl: '12h' } },
          usage: { cacheWriteInputTokens: 50, cacheWrite12hInputTokens: 50 },
          model: 'gpt-6.1-terra',
        },
      ],
      compact: { fields: { prompt_cache_options: { ttl: '12h' } } },
      responses: [
        { fields: { prompt_cache_options: { ttl: '12h' } } },
        {
          fields: { prompt_cache_options: { ttl: '12h' } },
          usage: { cacheWriteInputTokens: 50, cacheWrite12hInputTokens: 50 },
          model: 'gpt-6.1-terra',
        },
      ],
      messages: {
        fields: { cache_control: { type: 'ephemeral', ttl: '1h' } },
        usage: { cacheWriteInputTokens: 50, cacheWrite1hInputTokens: 50 },
      },
    },
  },
  {
    what: 'Images in a prompt',
    at: {
      chat: { fields: inChat({ type: 'image_url', image_url: { url: PNG } }) },
      responses: { fields: inResponses({ type: 'input_image', image_url: PNG }) },
      compact: { fields: inResponses({ type: 'input_image', image_url: PNG }) },
      messages: {
        fields: inChat({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: DATA } }),
      },
      generateContent: { fields: inContents({ inlineData: { mimeType: 'image/png', data: DATA } }), usage: image },
      embedContent: {
        fields: { content: { parts: [{ inlineData: { mimeType: 'image/png', data: DATA } }] } },
        usage: image,
      },
      imageEdits: { fields: { mask: formFile('mask.png', 'image/png') } },
    },
  },
  {
    what: 'Sound in a prompt',
    at: {
      chat: [
        { fields: inChat({ type: 'input_audio', input_audio: { data: DATA, format: 'mp3' } }) },
        {
          fields: inChat({ type: 'input_audio', input_audio: { data: DATA, format: 'mp3' } }),
          usage: heard,
          model: 'gpt-audio-1.5',
        },
      ],
      responses: { fields: inResponses({ type: 'input_audio', input_audio: { data: DATA, format: 'mp3' } }) },
      compact: { fields: inResponses({ type: 'input_audio', input_audio: { data: DATA, format: 'mp3' } }) },
      generateContent: [SOUND, { ...SOUND, usage: heard, model: 'gemini-3.1-flash-lite' }],
      transcriptions: [
        {},
        { usage: { inputTokens: 0, audioInputTokens: 0, responseTokens: 0, audioSeconds: 1 }, model: 'whisper-1' },
      ],
    },
  },
  {
    what: 'A recording in another format than WAV, MP3 and Ogg, or that is not plain',
    at: {
      transcriptions: [
        { fields: { file: formFile('a.wav', 'audio/wav', FLAC) } },
        { fields: { file: formFile('a.wav', 'audio/wav', FLAC) }, model: 'whisper-1' },
      ],
    },
  },
  {
    what: 'Video in a prompt',
    at: {
      chat: { fields: inChat({ type: 'video_url', video_url: { url: 'https://example.com/film.mp4' } }) },
      generateContent: [FILM, { ...FILM, usage: { ...image, audioInputTokens: 50 }, model: 'gemini-3.1-flash-lite' }],
    },
  },
  {
    what: 'PDF and other files in a prompt',
    at: {
      chat: { fields: inChat({ type: 'file', file: { file_data: PDF, filename: 'a.pdf' } }) },
      responses: { fields: inResponses({ type: 'input_file', file_data: PDF, filename: 'a.pdf' }) },
      compact: { fields: inResponses({ type: 'input_file', file_data: PDF, filename: 'a.pdf' }) },
      messages: {
        fields: inChat({ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: DATA } }),
      },
      generateContent: { fields: inContents({ inlineData: { mimeType: 'application/pdf', data: DATA } }) },
    },
  },
  {
    what: 'What is stored at the vendor',
    at: {
      chat: { fields: inChat({ type: 'file', file: { file_id: 'file-1' } }) },
      responses: { fields: { previous_response_id: 'resp_1' } },
      compact: { fields: { previous_response_id: 'resp_1' } },
      messages: { fields: inChat({ type: 'document', source: { type: 'file', file_id: 'file_1' } }) },
      generateContent: { fields: { cachedContent: 'cachedContents/1' }, ...CACHED },
      embedContent: {
        fields: { content: { parts: [{ fileData: { mimeType: 'text/plain', fileUri: 'files/1' } }] } },
      },
    },
  },
  {
    what: "A stored prompt, which brings the vendor's tools",
    at: { responses: { fields: { prompt: { id: 'pmpt_1' } } } },
  },
  {
    what: 'Images in an answer',
    at: {
      chat: { fields: { modalities: ['text', 'image'] } },
      generateContent: [
        { fields: config({ responseModalities: ['IMAGE'] }) },
        { fields: config({ responseModalities: ['IMAGE'] }), ...DRAWN, model: 'gemini-3-pro-image' },
      ],
      images: {},
      imageEdits: {},
    },
  },
  {
    what: 'Sound in an answer',
    at: {
      chat: [
        { fields: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } } },
        {
          fields: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } },
          ...SPOKEN,
          model: 'gpt-audio-1.5',
        },
      ],
      generateContent: [
        { fields: config({ speechConfig: {} }) },
        {
          fields: config({ responseModalities: ['AUDIO'], speechConfig: {} }),
          ...SPOKEN,
          model: 'gemini-3.8-flash-tts',
        },
      ],
      speech: [
        {},
        { usage: { inputTokens: 0, responseTokens: 0, audioOutputTokens: 0, characters: 5 }, model: 'tts-1' },
      ],
    },
  },
  {
    what: 'Another kind of answer',
    at: {
      chat: { fields: { modalities: ['video'] } },
      generateContent: { fields: config({ responseModalities: ['VIDEO'] }) },
    },
  },
  {
    what: 'A prediction of the answer',
    at: { chat: { fields: { prediction: { type: 'content', content: TEXT } }, usage: { responseTokens: 20 } } },
  },
  {
    what: 'Web search',
    at: {
      chat: { fields: { web_search_options: {} }, usage: { searches: 5 } },
      responses: { fields: tool({ type: 'web_search' }), usage: { searches: 10 } },
      compact: { fields: broughtTool({ type: 'web_search' }) },
      messages: { fields: tool(WEB_SEARCH), usage: { searches: 10 } },
      generateContent: [
        { fields: tool({ googleSearch: {} }) },
        { fields: tool({ googleSearch: {} }), usage: { searches: 1 }, model: 'gemini-2.5-flash' },
      ],
    },
  },
  {
    what: 'Web search with a bound in the request',
    at: {
      responses: { fields: { ...tool({ type: 'web_search' }), max_tool_calls: 3 }, usage: { searches: 3 } },
      messages: { fields: tool({ ...WEB_SEARCH, max_uses: 3 }), usage: { searches: 3 } },
    },
  },
  {
    what: 'Web search without a bound, in a line of a batch',
    at: { responses: { fields: tool({ type: 'web_search' }), inBatch: true } },
  },
  {
    what: 'File search',
    at: {
      responses: {
        fields: tool({ type: 'file_search', vector_store_ids: ['vs_1'] }),
        usage: { toolUses: { fileSearch: 10 } },
      },
      compact: { fields: broughtTool({ type: 'file_search', vector_store_ids: ['vs_1'] }) },
      generateContent: { fields: tool({ fileSearch: { fileSearchStoreNames: ['stores/1'] } }) },
    },
  },
  {
    what: 'MCP servers, and pages that the vendor fetches',
    at: {
      responses: { fields: tool({ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }) },
      compact: { fields: broughtTool({ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }) },
      messages: { fields: tool({ type: 'web_fetch_20250910', name: 'web_fetch' }) },
      generateContent: { fields: tool({ urlContext: {} }) },
    },
  },
  {
    what: 'Code in containers',
    at: {
      responses: { fields: tool({ type: 'code_interpreter', container: { type: 'auto' } }) },
      compact: { fields: broughtTool({ type: 'code_interpreter', container: { type: 'auto' } }) },
      messages: { fields: tool({ type: 'code_execution_20250825', name: 'code_execution' }) },
      generateContent: { fields: tool({ codeExecution: {} }) },
    },
  },
  { what: 'Maps', at: { generateContent: { fields: tool({ googleMaps: {} }) } } },
  {
    what: 'The tool that draws',
    at: {
      responses: { fields: tool({ type: 'image_generation' }) },
      compact: { fields: broughtTool({ type: 'image_generation' }) },
    },
  },
  {
    what: "A service tier of the vendor's choice",
    at: {
      chat: { fields: { service_tier: 'auto' } },
      responses: { fields: { service_tier: 'auto' } },
      compact: { fields: { service_tier: 'auto' } },
      messages: { fields: { service_tier: 'auto' } },
      generateContent: {},
    },
  },
  {
    what: 'The service tier `priority`',
    at: {
      chat: { fields: { service_tier: 'priority' }, usage: { serviceTier: 'priority' } },
      responses: { fields: { service_tier: 'priority' }, usage: { serviceTier: 'priority' } },
      compact: { fields: { service_tier: 'priority' }, usage: { serviceTier: 'priority' } },
      generateContent: { fields: { serviceTier: 'priority' } },
    },
  },
  {
    what: 'The service tier `flex`',
    at: {
      chat: { fields: { service_tier: 'flex' }, usage: { serviceTier: 'flex' } },
      responses: { fields: { service_tier: 'flex' }, usage: { serviceTier: 'flex' } },
      compact: { fields: { service_tier: 'flex' }, usage: { serviceTier: 'flex' } },
      generateContent: { fields: { serviceTier: 'flex' } },
    },
  },
  {
    what: 'The speed `fast`',
    at: {
      messages: [
        { fields: { speed: 'fast' } },
        { fields: { speed: 'fast' }, usage: { speed: 'fast' }, model: 'claude-opus-5-5' },
      ],
    },
  },
  {
    what: 'A further model that moderates, advises or stands in',
    at: {
      chat: { fields: { moderation: { model: 'omni-moderation-latest' } } },
      responses: { fields: { moderation: { model: 'omni-moderation-latest' } } },
      messages: { fields: { fallbacks: [{ model: 'claude-haiku-5-5' }] } },
    },
  },
  {
    what: 'Reasoning in more than one run',
    at: { responses: { fields: { reasoning: { mode: 'pro' } } } },
  },
  {
    what: 'A field that is in no table',
    at: Object.fromEntries([...CONVERSATIONS, ...OTHERS].map((name) => [name, FROM_TOMORROW])),
  },
];

/** The requests of a row to an endpoint. */
export function probesAt({ at }: Row, endpoint: EndpointName): readonly Probe[] {
  const probes = at[endpoint] ?? [];
  return 'length' in probes ? probes : [probes];
}

export function probeBody(endpoint: EndpointName, { fields }: Probe): Fields {
  return { ...ASKED[endpoint].body, ...fields };
}
