/**
 * The capabilities that a request uses besides text are found in every form that vendors accept, and only there.
 */

import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import type { Capability } from '../../src/domain/plan.ts';
import { isSearchModel, requestedCapabilities, type VendorRequestParts } from '../../src/vendors/capabilities.ts';

const requested = (body: Record<string, unknown>, more: Partial<VendorRequestParts> = {}) =>
  requestedCapabilities({ body, ...more });
const turn = (content: unknown) => ({ messages: [{ role: 'user', content }] });

describe('a request asks for', () => {
  test.each<[Capability, Record<string, unknown>]>([
    ['search', { tools: [{ type: 'web_search' }] }],
    ['search', { tools: [{ type: 'web_search_2025_08_26', filters: {} }] }],
    ['search', { tools: [{ type: 'web_search_preview' }] }],
    ['search', { tools: [{ type: 'function', name: 'f' }, { type: 'web_search_preview_2025_03_11' }] }],
    ['search', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['search', { tools: [{ type: 'openrouter:web_search' }] }],
    ['search', { tools: [{ type: 'live_search' }] }],
    ['search', { tools: [{ type: 'x_search' }] }],
    ['search', { tools: [{ type: 'browser_search' }] }],
    ['search', { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] }],
    ['search', { tools: [{ google_search: {} }] }],
    ['search', { tools: [{ googleSearch: {} }] }],
    ['search', { tools: [{ googleSearchRetrieval: {} }] }],
    ['search', { tools: [{ enterpriseWebSearch: {} }] }],
    ['search', { tools: [{ type: 'function', google_search: {} }] }],
    ['search', { tools: [{ type: 'namespace', tools: [{ type: 'web_search' }] }] }],
    ['search', { input: [{ type: 'additional_tools', tools: [{ type: 'web_search' }] }] }],
    ['search', { plugins: [{ id: 'web' }] }],
    ['search', { web_search_options: {} }],
    ['search', { search_parameters: { mode: 'auto' } }],
    ['search', { enable_search: true }],
    ['image', { tools: [{ type: 'image_generation', quality: 'low' }] }],
    ['image', { modalities: ['image', 'text'] }],
    ['image', { generationConfig: { responseModalities: ['TEXT', 'IMAGE'] } }],
    ['tools', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
    ['tools', { tools: [{ type: 'file_search', vector_store_ids: ['vs'] }] }],
    ['tools', { tools: [{ type: 'shell' }] }],
    ['tools', { tools: [{ type: 'mcp', server_label: 'a', server_url: 'https://a.example' }] }],
    ['tools', { tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] }],
    ['tools', { tools: [{ type: 'web_fetch_20250910', name: 'web_fetch' }] }],
    ['tools', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'a' }] }],
    ['tools', { mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }],
    ['tools', { tools: [{ code_execution: {} }] }],
    ['tools', { tools: [{ codeExecution: {} }] }],
    ['tools', { tools: [{ googleMaps: {} }] }],
    ['tools', { tools: [{ fileSearch: { fileSearchStoreNames: ['a'] } }] }],
    ['tools', { tools: [{ url_context: {} }] }],
    ['audio', { modalities: ['text', 'audio'] }],
    ['audio', { audio: { voice: 'alloy', format: 'wav' } }],
    ['audio', { generation_config: { response_modalities: ['AUDIO'] } }],
    [
      'audio',
      turn([
        { type: 'text', text: 'x' },
        { type: 'input_audio', input_audio: { data: 'a', format: 'wav' } },
      ]),
    ],
    ['audio', turn([{ type: 'audio_url', audio_url: { url: 'https://example.com/a.wav' } }])],
    ['audio', turn([{ type: 'file', file: { file_data: 'data:audio/wav;base64,aaaa' } }])],
    ['audio', turn([{ type: 'image_url', image_url: { url: 'data:audio/mp3;base64,aaaa' } }])],
    ['audio', { messages: [{ role: 'assistant', audio: { id: 'audio_1' } }] }],
    ['audio', { input: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }],
    ['audio', { input: [{ type: 'function_call_output', output: [{ type: 'input_audio' }] }] }],
    ['audio', { contents: [{ parts: [{ inlineData: { mimeType: 'audio/wav', data: 'a' } }] }] }],
    ['audio', { contents: { parts: [{ file_data: { mime_type: 'audio/mp3', file_uri: 'gs://a' } }] } }],
  ])('%s: %j', (capability, body) => {
    expect(requested(body)).toEqual([capability]);
  });

  test('every capability that it uses, each once', () => {
    const body = {
      tools: [{ type: 'image_generation' }, { type: 'mcp' }, { type: 'web_search' }, { type: 'web_search' }],
      modalities: ['audio'],
    };
    expect(requested(body, { model: 'gpt-4o-search-preview' })).toEqual(['search', 'image', 'audio', 'tools']);
  });

  test.each<[string, Capability[]]>([
    ['https://api.openai.com/v1/images/generations', ['image']],
    ['/v1/images/edits', ['image']],
    ['https://api.openai.com/v1/audio/speech', ['audio']],
    ['/v1/chat/completions', []],
  ])('the capability of its endpoint: %s', (path, expected) => {
    expect(requested({ prompt: 'x' }, { path })).toEqual(expected);
  });

  test.each([
    {},
    turn('search the web for images and audio/wav'),
    turn([
      { type: 'text', text: 'audio/wav' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aaaa' } },
    ]),
    { tools: [{ type: 'function', function: { name: 'web_search', parameters: { type: 'object' } } }] },
    { tools: [{ name: 'web_search', description: 'ours', input_schema: { type: 'object' } }] },
    { tools: [{ type: 'tool_search' }, { type: 'local_shell' }, { type: 'computer_use' }, { type: 'apply_patch' }] },
    { tools: [{ type: 'computer_use_preview' }, { type: 'bash_20250124', name: 'bash' }, { computerUse: {} }] },
    { tools: [{ type: 'function', function: { name: 'code_interpreter' } }], mcp_servers: [] },
    { tools: [{ name: 'web_fetch', description: 'ours', input_schema: { type: 'object' } }] },
    { tools: [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }] },
    { tools: [{ functionDeclarations: [{ name: 'google_search' }] }] },
    { tools: 'web_search', modalities: 'audio', messages: 'x', plugins: {}, input: 5, contents: null },
    {
      web_search_options: null,
      audio: null,
      enable_search: false,
      search_parameters: { mode: 'off' },
      modalities: ['text'],
    },
    { plugins: [{ id: 'file-parser' }] },
    { input: ['web_search', 'input_audio'] },
  ])('nothing: %j', (body) => {
    expect(requested(body)).toEqual([]);
  });
});

describe('models', () => {
  const needs = (model: string) => requestedCapabilities({ model, body: {} });

  test('of the catalog that make images, speak or transcribe use that capability, and text models use neither', () => {
    const expected: Record<string, Capability> = { image: 'image', speech: 'audio', transcription: 'audio' };
    for (const { model, kind } of BUILT_IN_CATALOG.models) {
      const found = needs(model);
      if (expected[kind]) expect([model, found]).toEqual([model, expect.arrayContaining([expected[kind]])]);
      else if (['chat', 'completion', 'embedding'].includes(kind))
        expect([model, found.filter((name) => name !== 'search')]).toEqual([model, []]);
    }
  });

  test('that search in every call use search, and others do not', () => {
    const searching = [
      'gpt-4o-search-preview',
      'gpt-4o-mini-search-preview-2025-03-11',
      'gpt-5-search-api',
      'sonar-pro',
      'perplexity/sonar',
    ];
    for (const model of [...searching, 'openai/gpt-5.2:online', 'groq/compound-mini'])
      expect([model, needs(model)]).toEqual([model, ['search']]);
    for (const model of [
      'gpt-5.2',
      'text-search-ada-doc-001',
      'code-search-ada-code-001',
      'sonarqube',
      'gemini-3.5-flash',
    ]) {
      expect([model, isSearchModel(model)]).toEqual([model, false]);
    }
  });
});
