/**
 * The bound of a request's input: never below a vendor's count, near it for text, and the whole context only if the
 * vendor alone knows the content.
 */
import fc from 'fast-check';
import { get_encoding } from 'tiktoken';
import { describe, expect, test } from 'vitest';
import type { VendorKind } from '../../src/domain/vendor-kind.ts';
import { findExtras } from '../../src/gateway/demand/demand.ts';
import { CONTEXT_TOKENS_UNKNOWN, inputBound } from '../../src/gateway/demand/input.ts';
import { PieceBytes } from '../../src/platform/byte-source.ts';
import languages from '../fixtures/languages.json' with { type: 'json' };
import { FLAC, mp3, OPUS_HEAD, OPUS_PACKET, ogg, wave } from '../support/recordings.ts';

const CONTEXT = 1_000_000;
type Body = Record<string, unknown>;
const bound = (kind: VendorKind, model: string, body: Body, contextTokens: number | null = CONTEXT) =>
  inputBound({
    kind,
    model,
    body,
    contextTokens: contextTokens ?? undefined,
    fillsContext: findExtras({ kind, model, path: requestPath(kind, body), body, asIs: true }).fillsContext,
  });
/** The path of the endpoint whose form the body has. */
function requestPath(kind: VendorKind, { contents, content, messages, prompt, input }: Body): string {
  if (contents !== undefined) return ':generateContent';
  if (content !== undefined) return ':embedContent';
  if (messages !== undefined) return kind === 'anthropic' ? 'messages' : 'chat/completions';
  if (typeof prompt === 'string') return 'images/generations';
  const isText = Array.isArray(input) && input.every((item) => typeof item === 'string' || Array.isArray(item));
  return isText ? 'embeddings' : 'responses';
}
const openai = (body: Body) => bound('openai', 'gpt-6-sol', { model: 'gpt-6-sol', ...body });
const anthropic = (body: Body) => bound('anthropic', 'claude-opus-4-8', { model: 'claude-opus-4-8', ...body });
const google = (body: Body) => bound('google', 'gemini-3.8-flash', body);
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

/** The tokens around the text of a request. */
const FRAME_MAX = 700;

describe('text', () => {
  const text = languages.texts.map((sample) => sample.text).join('\n');
  const bytes = Buffer.byteLength(text);

  test.each<[string, () => { atMost: number; estimate: number }]>([
    ['chat completions', () => openai(user(text))],
    ['chat completions in parts', () => openai(user([{ type: 'text', text }]))],
    ['responses', () => openai({ input: text, instructions: 'Be brief.' })],
    ['responses in items', () => openai({ input: [{ role: 'user', content: [{ type: 'input_text', text }] }] })],
    ['embeddings', () => bound('openai', 'text-embedding-3-small', { input: text })],
    ['images', () => bound('openai', 'gpt-image-2', { prompt: text })],
    ['generateContent', () => google({ contents: [{ role: 'user', parts: [{ text }] }] })],
    ['embedContent', () => bound('google', 'gemini-embedding-2', { content: { parts: [{ text }] } })],
  ])('of %s counts at most its bytes and a frame', (_shape, request) => {
    const { atMost, estimate } = request();
    expect(atMost).toBeGreaterThanOrEqual(bytes);
    expect(atMost).toBeLessThanOrEqual(bytes + FRAME_MAX);
    expect(estimate).toBeLessThan(atMost);
  });

  test('for Claude counts more if a tokenizer may rewrite it', () => {
    // One character that is rewritten to 18.
    const { atMost } = anthropic({ max_tokens: 10, ...user('\ufdfa'.repeat(1_000)) });
    expect(atMost).toBeGreaterThanOrEqual(33_000);
    const plain = anthropic({ max_tokens: 10, ...user(text) });
    expect(plain.atMost).toBeLessThan(1.1 * bytes);
  });

  test('is estimated near its real count', () => {
    const tokenizer = get_encoding('o200k_base');
    for (const sample of languages.texts) {
      const { estimate } = openai(user(sample.text));
      const real = tokenizer.encode_ordinary(sample.text).length;
      expect([sample.language, estimate >= real]).toEqual([sample.language, true]);
    }
    const english = languages.texts[0]?.text ?? '';
    expect(openai(user(english)).estimate / tokenizer.encode_ordinary(english).length).toBeLessThan(1.5);
  });

  test('never counts more than the context', () => {
    const long = 'x'.repeat(3_000);
    expect(bound('openai', 'gpt-6-sol', user(long), 1_000).atMost).toBe(1_000);
    expect(bound('openai', 'gpt-6-sol', user(long), 100)).toMatchObject({ atMost: 100, estimate: 100 });
    expect(bound('openai', 'gpt-6-sol', user(long), null).atMost).toBeGreaterThan(3_000);
  });

  test('of many embeddings may fill the context of each', () => {
    const input = Array.from({ length: 10 }, () => 'word '.repeat(1_000));
    const { atMost } = bound('openai', 'text-embedding-3-small', { input }, 800);
    expect(atMost).toBe(8_000);
  });

  test('given as tokens counts those', () => {
    const { atMost, estimate } = bound('openai', 'text-embedding-3-small', {
      input: [Array.from({ length: 500 }, (_, at) => at + 100_000), [1, 2, 3]],
    });
    expect(estimate).toBeGreaterThanOrEqual(503);
    expect(estimate).toBeLessThan(530);
    expect(atMost).toBeLessThan(503 + FRAME_MAX);
  });
});

describe('images', () => {
  const png = (width: number, height: number) => {
    const bytes = Buffer.alloc(60);
    bytes.writeUInt32BE(0x89504e47, 0);
    bytes.writeUInt32BE(0x0d0a1a0a, 4);
    bytes.writeUInt32BE(13, 8);
    bytes.write('IHDR', 12);
    bytes.writeUInt32BE(width, 16);
    bytes.writeUInt32BE(height, 20);
    return bytes.toString('base64');
  };
  const jpeg = (...sizes: [number, number][]) => {
    const frames = sizes.flatMap(([width, height]) => [
      0xff,
      0xc0,
      0,
      11,
      8,
      height >> 8,
      height & 255,
      width >> 8,
      width & 255,
      1,
      0,
      0,
      0,
    ]);
    return Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, ...frames, 0xff, 0xda, ...Array(60).fill(0)]).toString(
      'base64',
    );
  };
  const webp = (width: number, height: number) => {
    const bytes = Buffer.alloc(60);
    bytes.write('RIFF', 0);
    bytes.write('WEBPVP8X', 8);
    bytes.writeUIntLE(width - 1, 24, 3);
    bytes.writeUIntLE(height - 1, 27, 3);
    return bytes.toString('base64');
  };
  const url = (image: string, type = 'png') => `data:image/${type};base64,${image}`;
  const sent = (model: string, image: string) =>
    bound('openai', model, user([{ type: 'image_url', image_url: { url: image } }]));
  const frame = sent('gpt-6-sol', 'https://example.com/a.png').atMost - 36_000;

  test.each<[string, number, number]>([
    // The vendor's bill, by its own tables.
    ['1024x1024 is 1,229', 1_024, 1_229],
    ['4032x3024 is 14,364', 4_032, 14_364],
  ])('of a model that counts patches count by their size: %s', (_name, width, tokens) => {
    const height = width === 4_032 ? 3_024 : width;
    for (const image of [url(png(width, height)), url(jpeg([width, height]), 'jpeg'), url(webp(width, height))])
      expect(sent('gpt-6-sol', image).atMost - frame).toBe(tokens);
  });

  test('that name two sizes have the larger, and a small one may be enlarged', () => {
    expect(sent('gpt-6-sol', url(jpeg([32, 32], [1_024, 1_024]), 'jpeg')).atMost - frame).toBe(1_229);
    expect(sent('gpt-6-sol', url(png(32, 32))).atMost - frame).toBe(308);
  });

  test.each<[VendorKind, string, Body, number]>([
    ['openai', 'gpt-6-sol', { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }, 36_000],
    ['openai', 'gpt-6-sol', { type: 'image_url', image_url: { url: 'data:image/png;base64,!!' } }, 36_000],
    ['openai', 'gpt-6-sol', { type: 'input_image', file_id: 'file-1' }, 36_000],
    ['openai', 'gpt-5.5', { type: 'image_url', image_url: { url: url(png(9_000, 9_000)) } }, 12_000],
    ['openai', 'gpt-4o-mini', { type: 'image_url', image_url: { url: url(png(10, 10)) } }, 48_169],
    ['openai', 'gpt-4o', { type: 'image_url', image_url: { url: url(png(10, 10)) } }, 3_779],
    ['openai', 'a-new-one', { type: 'image_url', image_url: { url: url(png(10, 10)) } }, 48_600],
    ['anthropic', 'claude-opus-4-8', { type: 'image', source: { type: 'base64', data: png(9, 9) } }, 4_784],
    ['anthropic', 'claude-opus-4-8', { type: 'image', source: { type: 'url', url: 'https://example.com/a' } }, 4_784],
    ['google', 'gemini-3.8-flash', { inlineData: { mimeType: 'image/png', data: png(9, 9) } }, 2_240],
    ['google', 'gemini-2.5-pro', { inline_data: { mime_type: 'image/png', data: png(9, 9) } }, 6_192],
    ['compatible', 'llama-4', { type: 'image_url', image_url: { url: url(png(9, 9)) } }, 16_384],
  ])('of %s %s count at most the largest: %j', (kind, model, part, tokens) => {
    const inOther = part.type === 'input_image' ? { input: [{ role: 'user', content: [part] }] } : user([part]);
    const body = kind === 'google' ? { contents: [{ role: 'user', parts: [part] }] } : inOther;
    const { atMost } = bound(kind, model, body);
    expect(atMost).toBeGreaterThanOrEqual(tokens);
    expect(atMost).toBeLessThanOrEqual(tokens + FRAME_MAX);
  });
});

describe('audio', () => {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  const sound = (format: string, data: string) => user([{ type: 'input_audio', input_audio: { format, data } }]);
  const inline = (mimeType: string, data: string) => ({ contents: [{ parts: [{ inlineData: { mimeType, data } }] }] });

  test('counts by the seconds that its bytes can have, whatever it is called', () => {
    for (const [format, data] of [
      ['mp3', base64(mp3(60))],
      ['flac', base64(wave(60))],
      ['wav', `data:audio/wav;base64,${base64(ogg(OPUS_HEAD, Array(3_000).fill(OPUS_PACKET)))}`],
    ] as const) {
      const { atMost, estimate } = openai(sound(format, data));
      expect(atMost).toBeGreaterThanOrEqual(60 * 10);
      expect(atMost).toBeLessThanOrEqual(61 * 10 + FRAME_MAX);
      expect(estimate).toBeGreaterThanOrEqual(60 * 10);
      expect(estimate).toBeLessThan(650);
    }
    const { atMost } = google(inline('audio/mp3', base64(mp3(60))));
    expect(atMost).toBeGreaterThanOrEqual(60 * 32);
    expect(atMost).toBeLessThanOrEqual(61 * 32 + FRAME_MAX);
  });

  test('whose bytes do not bound it may fill the context', () => {
    const plain = base64(wave(1));
    for (const data of [
      base64(FLAC),
      base64(wave(10, { rate: 1 })),
      base64(Buffer.alloc(60_000, 1)),
      `${plain}\n`,
      plain.replace('U', '-'),
      `data:audio/wav,${plain}`,
    ])
      for (const format of ['wav', 'mp3'])
        expect([openai(sound(format, data)).atMost, google(inline(`audio/${format}`, data)).atMost]).toEqual([
          CONTEXT,
          CONTEXT,
        ]);
  });

  test('of a form is a recording whatever its sender calls it, and an image is one by its field', () => {
    const content = new PieceBytes([FLAC], FLAC.length);
    const file = { fileName: 'a.png', contentType: 'image/png', bytes: FLAC.length, head: FLAC, content };
    const ofForm = (body: Body) =>
      inputBound({ kind: 'openai', model: 'gpt-image-2', body, contextTokens: CONTEXT, fillsContext: false }).atMost;
    expect(ofForm({ file })).toBe(CONTEXT);
    expect(ofForm({ image: [{ ...file, contentType: 'audio/flac' }] })).toBeLessThan(100_000);
  });
});

describe('what only the vendor knows may fill the whole context', () => {
  test.each<[VendorKind, Body]>([
    ['openai', { input: 'x', previous_response_id: 'resp_1' }],
    ['openai', { input: 'x', conversation: { id: 'conv_1' } }],
    ['openai', { prompt: { id: 'pmpt_1' } }],
    ['openai', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
    ['openai', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }] }],
    ['openai', { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a.pdf' }] }] }],
    ['openai', user([{ type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=' } }])],
    ['openai', user([{ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }])],
    ['openai', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
    ['openai', { input: 'x', tools: [{ type: 'web_search' }] }],
    ['openai', { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
    ['openai', { input: 'x', tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
    ['openai', { input: 'x', tools: [{ type: 'mcp', server_url: 'https://example.com' }] }],
    ['openai', { ...user('x'), web_search_options: {} }],
    ['openai', { ...user('x'), plugins: [{ id: 'file-parser' }] }],
    ['anthropic', { ...user('x'), tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['anthropic', { ...user('x'), tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }],
    ['anthropic', { ...user('x'), tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
    ['anthropic', { ...user('x'), mcp_servers: [{ type: 'url', url: 'https://example.com' }] }],
    ['anthropic', user([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }])],
    [
      'anthropic',
      user([{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } }]),
    ],
    ['google', { contents: [{ parts: [{ fileData: { fileUri: 'https://example.com' } }] }] }],
    ['google', { contents: [{ parts: [{ inlineData: { mimeType: 'video/mp4', data: 'AAAA' } }] }] }],
    ['google', { contents: [{ parts: [{ text: 'x' }] }], cachedContent: 'cachedContents/1' }],
    ['google', { contents: [{ parts: [{ text: 'x' }] }], tools: [{ google_search: {} }] }],
    ['google', { contents: [{ parts: [{ text: 'x' }] }], tools: [{ urlContext: {} }] }],
    ['google', { contents: [{ parts: [{ text: 'x' }] }], tools: [{ functionDeclarations: [], codeExecution: {} }] }],
  ])('%s %j', (kind, body) => {
    expect(bound(kind, 'a-model', body).atMost).toBe(CONTEXT);
    expect(bound(kind, 'a-model', body, null).atMost).toBe(CONTEXT_TOKENS_UNKNOWN);
    expect(bound(kind, 'a-model', body).estimate).toBeLessThan(10_000);
  });

  test.each<[VendorKind, Body]>([
    ['openai', { ...user('x'), tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }],
    [
      'openai',
      {
        input: 'x',
        tools: [
          { type: 'function', name: 'f' },
          { type: 'custom', name: 'g' },
        ],
      },
    ],
    ['anthropic', { ...user('x'), tools: [{ name: 'f', input_schema: { type: 'object' } }] }],
    ['anthropic', { ...user('x'), tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    ['anthropic', user([{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x' } }])],
    ['google', { contents: [{ parts: [{ text: 'x' }] }], tools: [{ functionDeclarations: [{ name: 'f' }] }] }],
    ['google', { contents: [{ parts: [{ inlineData: { mimeType: 'text/plain', data: 'eHh4' } }] }] }],
  ])('and nothing else does: %s %j', (kind, body) => {
    expect(bound(kind, 'a-model', body).atMost).toBeLessThan(5_000);
  });
});

test('the bound of the output is no part of the prompt, so that another one leaves it as it is', () => {
  for (const [form, bodies] of [
    [openai, [user('x'), { ...user('x'), max_tokens: 7, max_completion_tokens: 32_000 }]],
    [openai, [{ input: 'x' }, { input: 'x', max_output_tokens: 500 }]],
    [anthropic, [user('x'), { ...user('x'), max_tokens: 99 }]],
    [google, [{ contents: [] }, { contents: [], generationConfig: { maxOutputTokens: 500 } }]],
    [
      google,
      [
        { contents: [], generation_config: { temperature: 1 } },
        { contents: [], generation_config: { temperature: 1, max_output_tokens: 5 } },
      ],
    ],
  ] as const) {
    const [plain, ...others] = bodies.map(form);
    for (const other of others) expect(other).toEqual(plain);
  }
  // Elsewhere such a name is content, as is a text in its place.
  const inside = (args: object) => openai({ tools: [{ type: 'function', function: args }], ...user('x') }).atMost;
  expect(inside({ max_tokens: 7 })).toBeGreaterThan(inside({}));
  expect(openai({ ...user('x'), max_tokens: 'many words' }).atMost).toBeGreaterThan(openai(user('x')).atMost);
});

test("tools count as JSON whose characters are escaped, and with the vendor's own prompt", () => {
  const parameters = { type: 'object', properties: { 名前: { type: 'string', description: '名'.repeat(1_000) } } };
  const { atMost, estimate } = openai({
    ...user('x'),
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  });
  expect(atMost).toBeGreaterThan(6_000 + 1_000);
  expect(estimate).toBeLessThan(atMost / 3);
});

test('any JSON has a bound: finite, whole and not negative', () => {
  const names = fc.constantFrom(
    'messages',
    'input',
    'tools',
    'type',
    'source',
    'file',
    'image_url',
    'inlineData',
    'data',
  );
  const shaped = fc.dictionary(names, fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(names, fc.jsonValue()))));
  fc.assert(
    fc.property(
      fc.oneof(shaped, fc.dictionary(fc.string(), fc.jsonValue())),
      fc.constantFrom('openai', 'anthropic', 'google', 'compatible'),
      fc.constantFrom(undefined, 0, 1, 128_000, Number.NaN),
      (body, kind, contextTokens) => {
        const asked = { kind, model: 'm', body: body as Body } as const;
        const { fillsContext, uses } = findExtras({ ...asked, path: 'chat/completions', asIs: false });
        const { atMost, estimate } = inputBound({ ...asked, contextTokens, fillsContext });
        for (const figure of [atMost, estimate, ...Object.values(uses)]) {
          expect(Number.isSafeInteger(figure)).toBe(true);
          expect(figure).toBeGreaterThanOrEqual(0);
        }
        expect(estimate).toBeLessThanOrEqual(atMost);
      },
    ),
  );
});
