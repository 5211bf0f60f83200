/**
 * The spellings that people and clouds really use, and the model each one means: the strategy and the key, or nobody.
 *
 * The public lookup and pricing agree on every one of them, except those that pricing must leave alone: fuzzy ones, and
 * the listed readings that are not certain enough to charge for.
 */
import { describe, expect, test } from 'vitest';
import { BUILT_IN_CATALOG } from '../../src/catalog/built-in.ts';
import { editDistance, FUZZY_SCORE_MIN, findNearest, parseSpelling } from '../../src/catalog/fuzzy.ts';
import { lookUpModel, type MatchStrategy, matchModel } from '../../src/catalog/matching.ts';
import { modelKeyOf, type Provider } from '../../src/catalog/model.ts';

const NOW = Date.UTC(2026, 10, 23);
const DATED = /[-@](\d{4}-\d\d-\d\d|\d{8})$/;

const SPELLINGS: [string, string | null][] = [
  // As the catalog spells it.
  ['gpt-4o-2024-08-06', 'exact openai/gpt-4o-2024-08-06'],
  ['gpt-4o-2024-11-20', 'exact openai/gpt-4o-2024-11-20'],
  ['text-davinci-003', 'exact openai/text-davinci-003'],
  ['gpt-4-0613', 'exact openai/gpt-4-0613'],
  ['gpt-5.6-sol', 'exact openai/gpt-5.6-sol'],
  ['claude-3-5-sonnet-20240620', 'exact anthropic/claude-3-5-sonnet-20240620'],
  ['claude-opus-4-6', 'exact anthropic/claude-opus-4-6'],
  ['claude-2.1', 'exact anthropic/claude-2.1'],
  ['gemini-2.5-pro', 'exact google/gemini-2.5-pro'],
  ['gemini-flash-latest', 'exact google/gemini-flash-latest'],
  ['openai/gpt-4o-2024-05-13', 'exact openai/gpt-4o-2024-05-13'],
  ['anthropic/claude-opus-5-5', 'exact anthropic/claude-opus-5-5'],
  ['google/gemini-3.8-flash', 'exact google/gemini-3.8-flash'],
  ['text-embedding-3-small', 'exact openai/text-embedding-3-small'],
  ['whisper-1', 'exact openai/whisper-1'],
  // Aliases.
  ['gpt-4o', 'alias openai/gpt-4o-2024-08-06'],
  ['gpt-4o-mini', 'alias openai/gpt-4o-mini-2024-07-18'],
  ['gpt-4-turbo-preview', 'alias openai/gpt-4-0125-preview'],
  ['openai/gpt-5', 'alias openai/gpt-5-2025-08-07'],
  ['o3', 'alias openai/o3-2025-04-16'],
  ['gpt-5.6', 'alias openai/gpt-5.6-sol'],
  ['claude-3-5-sonnet-latest', 'alias anthropic/claude-3-5-sonnet-20241022'],
  ['claude-3-opus-latest', 'alias anthropic/claude-3-opus-20240229'],
  ['anthropic/claude-sonnet-4-5', 'alias anthropic/claude-sonnet-4-5-20250929'],
  ['claude-opus-4-0', 'alias anthropic/claude-opus-4-20250514'],
  ['gemini-1.5-pro', 'alias google/gemini-1.5-pro-002'],
  ['gemini-1.5-pro-latest', 'alias google/gemini-1.5-pro-002'],
  ['google/gemini-1.5-flash-latest', 'alias google/gemini-1.5-flash-002'],
  ['gemini-pro', 'alias google/gemini-1.0-pro'],
  // A date pin removed or added.
  ['claude-3-haiku', 'snapshot anthropic/claude-3-haiku-20240307'],
  ['claude-3-opus', 'snapshot anthropic/claude-3-opus-20240229'],
  ['anthropic/claude-3-7-sonnet', 'snapshot anthropic/claude-3-7-sonnet-20250219'],
  ['claude-sonnet-4', 'snapshot anthropic/claude-sonnet-4-20250514'],
  ['claude-opus-4', 'snapshot anthropic/claude-opus-4-20250514'],
  ['claude-3-5-sonnet', 'snapshot anthropic/claude-3-5-sonnet-20241022'],
  ['anthropic/claude-3-5-sonnet', 'snapshot anthropic/claude-3-5-sonnet-20241022'],
  ['gpt-5.6-sol-2026-07-30', 'snapshot openai/gpt-5.6-sol'],
  ['claude-opus-4-6-20260205', 'snapshot anthropic/claude-opus-4-6'],
  ['gemini-2.5-pro-20250617', 'snapshot google/gemini-2.5-pro'],
  ['gpt-6-luna-2026-09-22', 'snapshot openai/gpt-6-luna'],
  ['gpt-6-luna-2026-11-23', 'snapshot openai/gpt-6-luna'],
  ['openrouter/openai/gpt-5.6-sol-2026-07-30', 'normalized openai/gpt-5.6-sol'],
  ['GPT-6-Luna-20261101', 'normalized openai/gpt-6-luna'],
  // A date pin that cannot be: after today, before the release, of no day, of a release that is not known.
  ['gpt-6-luna-2026-11-24', 'fuzzy openai/gpt-6-luna'],
  ['gpt-6-luna-2031-01-01', 'fuzzy openai/gpt-6-luna'],
  ['gpt-6-luna-20310101', 'fuzzy openai/gpt-6-luna'],
  ['openai/gpt-6-luna-2031-01-01', 'fuzzy openai/gpt-6-luna'],
  ['gpt-5.6-sol-2026-07-08', 'fuzzy openai/gpt-5.6-sol'],
  ['gpt-5.6-sol-2026-09-31', 'fuzzy openai/gpt-5.6-sol'],
  ['gpt-5.6-sol-2026-13-01', 'fuzzy openai/gpt-5.6-sol'],
  ['gpt-audio-1.5-2026-10-01', 'fuzzy openai/gpt-audio-1.5'],
  // Claude Code's mark of the long context.
  ['claude-opus-5-5[1m]', 'normalized anthropic/claude-opus-5-5'],
  ['anthropic/claude-sonnet-4-5-20250929[1m]', 'normalized anthropic/claude-sonnet-4-5-20250929'],
  ['us.anthropic.claude-opus-4-6-v1[1m]', 'normalized anthropic/claude-opus-4-6'],
  ['claude-opus-5-5[2m]', null],
  ['gpt-6-luna[1m]', null],
  // Case, spaces, dashes.
  ['GPT-4o', 'normalized openai/gpt-4o-2024-08-06'],
  [' gpt-4o ', 'normalized openai/gpt-4o-2024-08-06'],
  ['Gpt-4-Turbo', 'normalized openai/gpt-4-turbo-2024-04-09'],
  ['TEXT-EMBEDDING-ADA-002', 'normalized openai/text-embedding-ada-002'],
  ['gpt–4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['gpt‑4o‑mini', 'normalized openai/gpt-4o-mini-2024-07-18'],
  ['gemini—2.5—pro', 'normalized google/gemini-2.5-pro'],
  ['Gemini-2.5-Pro', 'normalized google/gemini-2.5-pro'],
  ['OpenAI/GPT-5', 'normalized openai/gpt-5-2025-08-07'],
  // A provider or path in front.
  ['openai:gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['anthropic:claude-opus-4-5', 'normalized anthropic/claude-opus-4-5-20251101'],
  ['gemini:gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  ['gemini/gemini-1.5-pro', 'normalized google/gemini-1.5-pro-002'],
  ['gemini/gemini-2.5-flash-lite', 'normalized google/gemini-2.5-flash-lite'],
  ['google:gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  ['google-gla:gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  ['google_genai:gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['googleai/gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  ['google-ai-studio/gemini-2.0-flash', 'normalized google/gemini-2.0-flash-001'],
  ['openai-responses:gpt-5.2', 'normalized openai/gpt-5.2-2025-12-11'],
  ['openai/responses/o1-pro', 'normalized openai/o1-pro-2025-03-19'],
  ['text-completion-openai/gpt-3.5-turbo-instruct', 'normalized openai/gpt-3.5-turbo-instruct-0914'],
  ['models/gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['models/gemini-embedding-001', 'normalized google/gemini-embedding-001'],
  ['google/models/gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['gemini/models/gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  // A channel in front.
  ['openrouter/openai/gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['openrouter/anthropic/claude-3-haiku', 'normalized anthropic/claude-3-haiku-20240307'],
  ['openrouter/google/gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['litellm/azure/gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['litellm_proxy/gpt-4o-mini', 'normalized openai/gpt-4o-mini-2024-07-18'],
  ['vercel_ai_gateway/openai/gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['azure/gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['azure/gpt-4o-mini-2024-07-18', 'normalized openai/gpt-4o-mini-2024-07-18'],
  ['azure/eu/gpt-4o-2024-08-06', 'normalized openai/gpt-4o-2024-08-06'],
  ['azure/us/gpt-4.1', 'normalized openai/gpt-4.1-2025-04-14'],
  ['azure/global-standard/gpt-4o-2024-11-20', 'normalized openai/gpt-4o-2024-11-20'],
  ['azure/responses/codex-mini-latest', 'normalized openai/codex-mini-latest'],
  ['azure_openai:gpt-4o', 'normalized openai/gpt-4o-2024-08-06'],
  ['azure_ai/gpt-5', 'normalized openai/gpt-5-2025-08-07'],
  ['vertex_ai/gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  ['vertex_ai/claude-3-5-sonnet@20240620', 'normalized anthropic/claude-3-5-sonnet-20240620'],
  ['vertex_ai/claude-opus-4-1', 'normalized anthropic/claude-opus-4-1-20250805'],
  ['google-vertex:gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['bedrock/anthropic.claude-3-haiku-20240307-v1:0', 'normalized anthropic/claude-3-haiku-20240307'],
  // Bedrock.
  ['anthropic.claude-3-5-sonnet-20241022-v2:0', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['anthropic.claude-3-5-sonnet-20240620-v1:0', 'normalized anthropic/claude-3-5-sonnet-20240620'],
  ['anthropic.claude-3-haiku-20240307-v1:0:48k', 'normalized anthropic/claude-3-haiku-20240307'],
  ['anthropic.claude-opus-4-6-v1', 'normalized anthropic/claude-opus-4-6'],
  ['anthropic.claude-sonnet-4-6', 'normalized anthropic/claude-sonnet-4-6'],
  ['us.anthropic.claude-3-5-sonnet-20241022-v2:0', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['us.anthropic.claude-opus-4-1-20250805-v1:0', 'normalized anthropic/claude-opus-4-1-20250805'],
  ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', 'normalized anthropic/claude-sonnet-4-5-20250929'],
  ['apac.anthropic.claude-sonnet-4-20250514-v1:0', 'normalized anthropic/claude-sonnet-4-20250514'],
  ['jp.anthropic.claude-haiku-4-5-20251001-v1:0', 'normalized anthropic/claude-haiku-4-5-20251001'],
  ['global.anthropic.claude-opus-4-5-20251101-v1:0', 'normalized anthropic/claude-opus-4-5-20251101'],
  ['us-gov.anthropic.claude-3-haiku-20240307-v1:0', 'normalized anthropic/claude-3-haiku-20240307'],
  ['global.anthropic.claude-opus-4-6-v1', 'normalized anthropic/claude-opus-4-6'],
  ['us.anthropic.claude-opus-4-7-v1', 'normalized anthropic/claude-opus-4-7'],
  ['anthropic.claude-sonnet-4-6-v1:0', 'normalized anthropic/claude-sonnet-4-6'],
  [
    'arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-5-sonnet-20241022-v2:0',
    'normalized anthropic/claude-3-5-sonnet-20241022',
  ],
  [
    'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0',
    'normalized anthropic/claude-sonnet-4-20250514',
  ],
  [
    'arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0',
    'normalized anthropic/claude-3-haiku-20240307',
  ],
  ['bedrock/us.anthropic.claude-3-7-sonnet-20250219-v1:0', 'normalized anthropic/claude-3-7-sonnet-20250219'],
  ['bedrock/converse/us.anthropic.claude-haiku-4-5-20251001-v1:0', 'normalized anthropic/claude-haiku-4-5-20251001'],
  ['bedrock/invoke/anthropic.claude-3-opus-20240229-v1:0', 'normalized anthropic/claude-3-opus-20240229'],
  ['bedrock/us-west-2/anthropic.claude-3-sonnet-20240229-v1:0', 'normalized anthropic/claude-3-sonnet-20240229'],
  ['bedrock_converse:anthropic.claude-3-haiku-20240307-v1:0', 'normalized anthropic/claude-3-haiku-20240307'],
  [
    'bedrock/arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0',
    'normalized anthropic/claude-3-haiku-20240307',
  ],
  // Vertex.
  ['claude-3-5-sonnet@20240620', 'normalized anthropic/claude-3-5-sonnet-20240620'],
  ['claude-3-5-sonnet-v2@20241022', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['claude-3-5-sonnet-v2', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['claude-3-haiku@20240307', 'normalized anthropic/claude-3-haiku-20240307'],
  ['claude-sonnet-4@20250514', 'normalized anthropic/claude-sonnet-4-20250514'],
  ['claude-opus-4-1@20250805', 'normalized anthropic/claude-opus-4-1-20250805'],
  ['claude-opus-4-6@default', 'normalized anthropic/claude-opus-4-6'],
  ['gemini-2.5-pro@default', 'normalized google/gemini-2.5-pro'],
  ['gemini-1.5-pro@002', 'normalized google/gemini-1.5-pro-002'],
  ['gemini-1.5-flash@001', 'normalized google/gemini-1.5-flash-001'],
  ['gemini-2.0-flash@001', 'normalized google/gemini-2.0-flash-001'],
  ['gemini-2.5-flash@latest', 'normalized google/gemini-2.5-flash'],
  ['publishers/anthropic/models/claude-3-5-sonnet-v2@20241022', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['publishers/google/models/gemini-2.5-pro', 'normalized google/gemini-2.5-pro'],
  ['publishers/anthropic/models/claude-3-haiku@20240307', 'normalized anthropic/claude-3-haiku-20240307'],
  [
    'projects/x/locations/y/publishers/anthropic/models/claude-opus-4-1@20250805',
    'normalized anthropic/claude-opus-4-1-20250805',
  ],
  [
    'projects/my-project/locations/us-central1/publishers/google/models/gemini-2.0-flash-001',
    'normalized google/gemini-2.0-flash-001',
  ],
  ['projects/p/locations/global/publishers/google/models/gemini-2.5-flash', 'normalized google/gemini-2.5-flash'],
  // Azure's GPT-3.5.
  ['gpt-35-turbo', 'normalized openai/gpt-3.5-turbo-0125'],
  ['gpt-35-turbo-0613', 'normalized openai/gpt-3.5-turbo-0613'],
  ['gpt-35-turbo-16k', 'normalized openai/gpt-3.5-turbo-16k-0613'],
  ['gpt-35-turbo-16k-0613', 'normalized openai/gpt-3.5-turbo-16k-0613'],
  ['gpt-35-turbo-instruct', 'normalized openai/gpt-3.5-turbo-instruct-0914'],
  ['azure/gpt-35-turbo-1106', 'normalized openai/gpt-3.5-turbo-1106'],
  // OpenRouter's routing.
  ['openai/gpt-4o:online', 'normalized openai/gpt-4o-2024-08-06'],
  ['anthropic/claude-3.5-haiku:beta', 'normalized anthropic/claude-3-5-haiku-20241022'],
  ['anthropic/claude-3.7-sonnet:thinking', 'normalized anthropic/claude-3-7-sonnet-20250219'],
  ['anthropic/claude-opus-4.5:nitro', 'normalized anthropic/claude-opus-4-5-20251101'],
  ['google/gemini-2.5-flash:floor', 'normalized google/gemini-2.5-flash'],
  ['google/gemini-2.5-flash:free', 'normalized google/gemini-2.5-flash'],
  ['openrouter/google/gemini-2.0-flash-001:free', 'normalized google/gemini-2.0-flash-001'],
  ['gemini-2.0-flash-lite-001:free', 'normalized google/gemini-2.0-flash-lite-001'],
  // Dots and dashes.
  ['claude-3.5-haiku', 'normalized anthropic/claude-3-5-haiku-20241022'],
  ['claude-3.5-sonnet', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['anthropic/claude-3.5-sonnet', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['anthropic/claude-3.5-sonnet-20240620', 'normalized anthropic/claude-3-5-sonnet-20240620'],
  ['claude-3.7-sonnet', 'normalized anthropic/claude-3-7-sonnet-20250219'],
  ['claude-sonnet-4.5', 'normalized anthropic/claude-sonnet-4-5-20250929'],
  ['anthropic/claude-opus-4.1', 'normalized anthropic/claude-opus-4-1-20250805'],
  ['claude-haiku-4.5-20251001', 'normalized anthropic/claude-haiku-4-5-20251001'],
  ['claude-opus-5.5', 'normalized anthropic/claude-opus-5-5'],
  ['claude-2-1', 'normalized anthropic/claude-2.1'],
  ['claude-2-0', 'normalized anthropic/claude-2.0'],
  ['claude-instant-1-2', 'normalized anthropic/claude-instant-1.2'],
  // Version and family swapped.
  ['claude-4-5-sonnet', 'normalized anthropic/claude-sonnet-4-5-20250929'],
  ['claude-4.5-sonnet', 'normalized anthropic/claude-sonnet-4-5-20250929'],
  ['claude-4-opus', 'normalized anthropic/claude-opus-4-20250514'],
  ['claude-4-sonnet-20250514', 'normalized anthropic/claude-sonnet-4-20250514'],
  ['claude-4.6-opus', 'normalized anthropic/claude-opus-4-6'],
  ['claude-haiku-3', 'normalized anthropic/claude-3-haiku-20240307'],
  ['claude-haiku-3.5', 'normalized anthropic/claude-3-5-haiku-20241022'],
  ['claude-sonnet-3-7', 'normalized anthropic/claude-3-7-sonnet-20250219'],
  ['claude-opus-3', 'normalized anthropic/claude-3-opus-20240229'],
  ['claude-sonnet-3.5', 'normalized anthropic/claude-3-5-sonnet-20241022'],
  ['google/gemini-pro-1.5', 'normalized google/gemini-1.5-pro-002'],
  ['google/gemini-flash-1.5', 'normalized google/gemini-1.5-flash-002'],
  ['google/gemini-flash-1.5-8b', 'normalized google/gemini-1.5-flash-8b-001'],
  ['gemini-flash-lite-2.5', 'normalized google/gemini-2.5-flash-lite'],
  // Fine-tuned.
  ['ft:gpt-3.5-turbo:acme::x', 'normalized openai/gpt-3.5-turbo-0125'],
  ['ft:gpt-4o-2024-08-06:org:name:id', 'normalized openai/gpt-4o-2024-08-06'],
  ['ft:gpt-4o-mini-2024-07-18:acme:support:AbC123', 'normalized openai/gpt-4o-mini-2024-07-18'],
  ['openai/ft:gpt-4.1-mini-2025-04-14:acme::B1', 'normalized openai/gpt-4.1-mini-2025-04-14'],
  ['FT:GPT-4o-2024-08-06:acme::abc123', 'normalized openai/gpt-4o-2024-08-06'],
  ['davinci:ft-acme-2023-04-01-10-20-30', 'normalized openai/davinci'],
  ['gpt-35-turbo-0125.ft-0e208cf33a6a466994aff31a08aba678', 'normalized openai/gpt-3.5-turbo-0125'],
  ['ft:babbage-002:acme::1', 'normalized openai/babbage-002'],
  ['curie:ft-personal-2022-05-01-00-00-00', 'normalized openai/curie'],
  ['gpt-4o-2024-08-06.ft-1a2b3c', 'normalized openai/gpt-4o-2024-08-06'],
  ['ft:llama-3-8b:acme::1', null],
  ['ft:', null],
  ['ft::', null],
  ['ft:ft:gpt-4o', null],
  ['ft-gpt-4o', null],
  // Misspelled.
  ['gpt-4o-min', 'fuzzy openai/gpt-4o-mini-2024-07-18'],
  ['gpt-4o-minii', 'fuzzy openai/gpt-4o-mini-2024-07-18'],
  ['gpt4o', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt4', 'fuzzy openai/gpt-4-0613'],
  ['gpt-4.o', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gtp-4o', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt-40-mini', null],
  ['gpt_4o', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['GPT 4o mini', 'fuzzy openai/gpt-4o-mini-2024-07-18'],
  ['gpt-4-o', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt-3.5-trubo', 'fuzzy openai/gpt-3.5-turbo-0125'],
  ['gpt3.5-turbo', 'fuzzy openai/gpt-3.5-turbo-0125'],
  ['gpt-3.5', null],
  ['gpt-35', null],
  ['chatgpt-4o', 'fuzzy openai/chatgpt-4o-latest'],
  ['gpt-4o-latest', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt-4o-2024-01-01', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt-4o-2024-11-2', 'fuzzy openai/gpt-4o-2024-11-20'],
  ['gpt-4o-2024-08', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt-4-1106', 'fuzzy openai/gpt-4-1106-preview'],
  ['gpt-4-1', 'fuzzy openai/gpt-4.1-2025-04-14'],
  ['gpt-4.1-miny', 'fuzzy openai/gpt-4.1-mini-2025-04-14'],
  ['o3mini', 'fuzzy openai/o3-mini-2025-01-31'],
  ['o-3', 'fuzzy openai/o3-2025-04-16'],
  ['text-embeding-3-small', 'fuzzy openai/text-embedding-3-small'],
  ['text-embedding-3small', 'fuzzy openai/text-embedding-3-small'],
  ['text-davinci003', 'fuzzy openai/text-davinci-003'],
  ['text-davinchi-003', 'fuzzy openai/text-davinci-003'],
  ['dalle-3', 'fuzzy openai/dall-e-3'],
  ['whisper1', 'fuzzy openai/whisper-1'],
  ['gpt-5-chat', 'normalized openai/gpt-5-chat-latest'],
  ['gpt-5-turbo', null],
  ['claude-35-sonet', 'fuzzy anthropic/claude-3-5-sonnet-20241022'],
  ['claude-3-5-sonet', 'fuzzy anthropic/claude-3-5-sonnet-20241022'],
  ['claude-35-haiku', 'fuzzy anthropic/claude-3-5-haiku-20241022'],
  ['claude-sonnet-45', 'fuzzy anthropic/claude-sonnet-4-5-20250929'],
  ['claude-45-sonnet', 'fuzzy anthropic/claude-sonnet-4-5-20250929'],
  ['cluade-3-opus', 'fuzzy anthropic/claude-3-opus-20240229'],
  ['claude-3-opuss', 'fuzzy anthropic/claude-3-opus-20240229'],
  ['Claude 3.5 Sonnet', 'fuzzy anthropic/claude-3-5-sonnet-20241022'],
  ['Claude Sonnet 4.5', 'fuzzy anthropic/claude-sonnet-4-5-20250929'],
  ['claude-sonet-4-5', 'fuzzy anthropic/claude-sonnet-4-5-20250929'],
  ['claud-opus-4-6', 'fuzzy anthropic/claude-opus-4-6'],
  ['claude-mythos', 'fuzzy anthropic/claude-mythos-preview'],
  ['claude-instant', null],
  ['claude-instant-v1', 'fuzzy anthropic/claude-instant-1'],
  ['claude-v2', 'fuzzy anthropic/claude-2'],
  ['anthropic.claude-v2:1', 'fuzzy anthropic/claude-2.1'],
  ['anthropic.claude-instant-v1', 'fuzzy anthropic/claude-instant-1'],
  ['claude-v1.3', 'fuzzy anthropic/claude-1.3'],
  ['claude-3-haiku-20240308', 'fuzzy anthropic/claude-3-haiku-20240307'],
  ['claude-sonnet-4-6-latest', 'fuzzy anthropic/claude-sonnet-4-6'],
  ['claude-3-haiku-latest', 'fuzzy anthropic/claude-3-haiku-20240307'],
  ['gemini-25-pro', 'fuzzy google/gemini-2.5-pro'],
  ['gemini-2.5-pr', 'fuzzy google/gemini-2.5-pro'],
  ['gemini-2-5-pro', 'fuzzy google/gemini-2.5-pro'],
  ['gemini2.5-flash', 'fuzzy google/gemini-2.5-flash'],
  ['gemini-2.5-flash-latest', 'fuzzy google/gemini-2.5-flash'],
  ['gemini-3-pro', 'fuzzy google/gemini-3-pro-preview'],
  ['gemini-3.1-pro', 'fuzzy google/gemini-3.1-pro-preview'],
  ['gemini-3-flash', 'normalized google/gemini-3-flash-preview'],
  ['gemini-2.5-pro-preview', 'fuzzy google/gemini-2.5-pro-preview-06-05'],
  ['gemini-2.5-pro-exp', 'fuzzy google/gemini-2.5-pro-exp-03-25'],
  ['gemin-2.5-pro', 'fuzzy google/gemini-2.5-pro'],
  ['gemini-2.5-flahs', 'fuzzy google/gemini-2.5-flash'],
  ['gemini-2.5-flashlite', 'fuzzy google/gemini-2.5-flash-lite'],
  ['Gemini 2.5 Pro', 'fuzzy google/gemini-2.5-pro'],
  ['gemini/gemini-25-pro', 'fuzzy google/gemini-2.5-pro'],
  ['models/gemini-2.5-flsh', 'fuzzy google/gemini-2.5-flash'],
  ['openai/gpt-4o-min', 'fuzzy openai/gpt-4o-mini-2024-07-18'],
  // Unknown, garbage, another vendor's or under the wrong provider.
  ['gpt-4o-pro', null],
  ['gpt-4o-nano', null],
  ['gpt-5.7', null],
  ['gpt-7', null],
  ['gpt-2', null],
  ['gpt-oss-120b', 'exact openai/gpt-oss-120b'],
  ['o5', null],
  ['o2', null],
  ['4o-mini', null],
  ['4o', null],
  ['claude-opus-4-9', null],
  ['claude-haiku-4-6', null],
  ['claude-4', null],
  ['claude-3', null],
  ['claude-sonnet-6', null],
  ['claude', null],
  ['claude-latest', null],
  ['gemini', null],
  ['gemini-2.4-pro', null],
  ['gemini-2.5-ultra', null],
  ['gemini-4-pro', null],
  ['gemini-exp-1206', null],
  ['gemini-2.5', null],
  ['gemma-3-27b-it', null],
  ['llama-3-70b', null],
  ['meta-llama/llama-3.3-70b-instruct', null],
  ['meta/llama-3-70b', null],
  ['mistral-large', null],
  ['mistral-large-latest', null],
  ['mistralai/mixtral-8x7b-instruct', null],
  ['codestral-latest', null],
  ['deepseek-chat', null],
  ['deepseek/deepseek-r1', null],
  ['deepseek-v3', null],
  ['grok-4', null],
  ['grok-3-mini', null],
  ['x-ai/grok-2', null],
  ['qwen-max', null],
  ['qwen2.5-72b-instruct', null],
  ['command-r-plus', null],
  ['cohere.command-r-plus-v1:0', null],
  ['amazon.nova-pro-v1:0', null],
  ['us.amazon.nova-lite-v1:0', null],
  ['amazon.titan-text-express-v1', null],
  ['meta.llama3-70b-instruct-v1:0', null],
  ['kimi-k2', null],
  ['phi-4', null],
  ['text-embedding-v3', null],
  ['text-embedding-005', null],
  ['text-bison-001', null],
  ['chat-bison', null],
  ['voyage-3-large', null],
  ['my-gpt-4o', null],
  ['azure/my-gpt-4o', null],
  ['my-deployment', null],
  ['openai/gemini-2.5-pro', null],
  ['google/gpt-4o', null],
  ['anthropic/gpt-4o-2024-08-06', null],
  ['gemini/gpt-4o', null],
  ['publishers/anthropic/models/gemini-2.5-pro', null],
  ['publishers/meta/models/llama-3.1-405b', null],
  ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123', null],
  ['arn:aws:bedrock:us-east-1:123456789012:custom-model/anthropic.claude-3-haiku-20240307-v1:0/abc', null],
  ['projects/p/locations/l/endpoints/123', null],
  ['tunedModels/my-model-abc', null],
  ['gpt-4o-2024-08-06-2025-01-01', 'fuzzy openai/gpt-4o-2024-08-06'],
  ['gpt', null],
  ['gpt-4o-mini-mini', null],
  ['chat', 'fuzzy openai/chat-latest'],
  ['models/', null],
  ['openai/', null],
  ['/', null],
  ['-', null],
  [':', null],
  [' ', null],
  ['hello', null],
  ['test', null],
  ['default', null],
  ['gpt-4o; drop table models', null],
  ['constructor', null],
  ['__proto__', null],
  ['toString', null],
  ['null', null],
  ['undefined', null],
  ['😀', null],
  ['ｇｐｔ－４ｏ', null],
  ['г-4o', null],
];

/** A price would be wrong or a guess: several snapshots, free of charge, or fine-tuned. */
const NOT_PRICED = new Set([
  'claude-3-5-sonnet',
  'anthropic/claude-3-5-sonnet',
  'google/gemini-2.5-flash:free',
  'openrouter/google/gemini-2.0-flash-001:free',
  'gemini-2.0-flash-lite-001:free',
  'claude-3.5-sonnet',
  'anthropic/claude-3.5-sonnet',
  'claude-sonnet-3.5',
  'ft:gpt-3.5-turbo:acme::x',
  'ft:gpt-4o-2024-08-06:org:name:id',
  'ft:gpt-4o-mini-2024-07-18:acme:support:AbC123',
  'openai/ft:gpt-4.1-mini-2025-04-14:acme::B1',
  'FT:GPT-4o-2024-08-06:acme::abc123',
  'davinci:ft-acme-2023-04-01-10-20-30',
  'gpt-35-turbo-0125.ft-0e208cf33a6a466994aff31a08aba678',
  'ft:babbage-002:acme::1',
  'curie:ft-personal-2022-05-01-00-00-00',
  'gpt-4o-2024-08-06.ft-1a2b3c',
]);

function lookedUp(name: string, provider?: Provider): string | null {
  const match = lookUpModel(BUILT_IN_CATALOG, name, NOW, provider);
  return match && `${match.strategy} ${modelKeyOf(match.model)}`;
}

function priced(name: string): string | null {
  const match = matchModel(BUILT_IN_CATALOG, name, NOW);
  return match && `${match.strategy} ${modelKeyOf(match.model)}`;
}

test.each(SPELLINGS)('%j is looked up as %s', (name, expected) => {
  expect(lookedUp(name)).toBe(expected);
});

test.each(SPELLINGS)('%j is priced only if the match is certain', (name, expected) => {
  const isPriced = expected !== null && !expected.startsWith('fuzzy ') && !NOT_PRICED.has(name);
  expect(priced(name)).toBe(isPriced ? expected : null);
});

test('there are at least 160 different cases, at least three for every strategy', () => {
  expect(new Set(SPELLINGS.map(([name]) => name)).size).toBe(SPELLINGS.length);
  expect(SPELLINGS.length).toBeGreaterThanOrEqual(160);
  const strategies: (MatchStrategy | 'fuzzy')[] = ['exact', 'alias', 'snapshot', 'normalized', 'fuzzy'];
  for (const strategy of strategies) {
    expect(SPELLINGS.filter(([, expected]) => expected?.startsWith(`${strategy} `)).length).toBeGreaterThanOrEqual(3);
  }
});

test('only fuzzy matches have a score, from the threshold up to 1', () => {
  for (const [name] of SPELLINGS) {
    const match = lookUpModel(BUILT_IN_CATALOG, name, NOW);
    expect([name, match?.strategy === 'fuzzy']).toEqual([name, match?.score !== undefined]);
    if (match?.score !== undefined) {
      expect(match.score).toBeGreaterThanOrEqual(FUZZY_SCORE_MIN);
      expect(match.score).toBeLessThanOrEqual(1);
    }
  }
});

describe('with a provider', () => {
  test.each<[string, Provider, string | null]>([
    ['gpt-4o', 'openai', 'alias openai/gpt-4o-2024-08-06'],
    ['gpt-4o', 'google', null],
    ['gemini-2.5-pro', 'openai', null],
    ['GPT-4o', 'anthropic', null],
    ['claude-3-5-sonnet', 'anthropic', 'snapshot anthropic/claude-3-5-sonnet-20241022'],
    ['claude-3-5-sonnet', 'google', null],
    ['ft:gpt-3.5-turbo:acme::x', 'openai', 'normalized openai/gpt-3.5-turbo-0125'],
    ['ft:gpt-3.5-turbo:acme::x', 'google', null],
    // A near miss finds only the provider's own models.
    ['gpt-4o-min', 'openai', 'fuzzy openai/gpt-4o-mini-2024-07-18'],
    ['gpt-4o-min', 'anthropic', null],
    ['claude-35-sonet', 'openai', null],
    ['gemini-25-pro', 'google', 'fuzzy google/gemini-2.5-pro'],
    // A channel names nobody's model.
    ['azure/gpt-4o', 'openai', 'normalized openai/gpt-4o-2024-08-06'],
    ['azure/gpt-4o', 'google', null],
    ['vertex_ai/claude-3-haiku@20240307', 'google', null],
    // The name itself identifies the provider.
    ['openai/gpt-4o', 'openai', 'alias openai/gpt-4o-2024-08-06'],
    ['publishers/anthropic/models/claude-3-haiku@20240307', 'google', 'normalized anthropic/claude-3-haiku-20240307'],
    ['anthropic/claude-3-haiku', 'openai', 'snapshot anthropic/claude-3-haiku-20240307'],
    ['google/gpt-4o', 'openai', null],
  ])('%j of %s is %s', (name, provider, expected) => {
    expect(lookedUp(name, provider)).toBe(expected);
  });
});

describe('the nearest name', () => {
  const known = (...names: string[]) => names.map((name) => ({ name, spelling: parseSpelling(name) }));
  const nearest = (asked: string, ...names: string[]) => {
    const found = findNearest(parseSpelling(asked), known(...names));
    return found && [found.candidate.name, found.score];
  };

  test.each([
    ['', '', 0],
    ['a', '', 1],
    ['kitten', 'sitting', 3],
    ['gtp', 'gpt', 1],
    ['ca', 'abc', 3],
    ['4o', 'o4', 2],
    ['abcd', 'badc', 2],
  ])('%j and %j are %d edits apart, both ways', (one, other, edits) => {
    expect([editDistance(one, other), editDistance(other, one)]).toEqual([edits, edits]);
  });

  test.each([
    ['gpt4o', 'gpt-4o', 1],
    ['gemini-3-pro', 'gemini-3-pro-preview', 0.96],
    ['gpt-4o-min', 'gpt-4o-mini', 0.889],
    ['gtp-4o', 'gpt-4o', 0.8],
  ])('of %j is %j at %d', (asked, name, score) => {
    expect(nearest(asked, 'dall-e-3', name)).toEqual([name, score]);
  });

  test.each([
    ['gemini-2.4-pro', 'gemini-2.5-pro'],
    ['gpt-4o-pro', 'gpt-4o'],
    ['gpt-realtime-translator-hd', 'gpt-realtime-translate'],
    ['-latest', 'chat-latest'],
    ['', 'o1'],
    ['gtp-4', 'gpt-4'],
  ])('of %j is not %j', (asked, name) => {
    expect(nearest(asked, name)).toBeNull();
  });

  test('is the one with the nearest revision, and the first of equally near ones', () => {
    expect(nearest('x-model-2025-06-02', 'x-model', 'x-model-2024-01-31', 'x-model-2025-06-01')?.[0]).toBe(
      'x-model-2025-06-01',
    );
    expect(nearest('x-model-latest', 'x-model-2024-01-31', 'x-model')?.[0]).toBe('x-model');
    expect(nearest('modelx', 'model-xa', 'model-xb')?.[0]).toBe('model-xa');
    expect(nearest('modelx', 'model-xb', 'model-xa')?.[0]).toBe('model-xb');
  });

  test('is the newer model of two that are equally near, whatever the order of the catalog', () => {
    const [newer, older] = ['claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-20240620'].map((name) =>
      BUILT_IN_CATALOG.models.find(({ model }) => model === name),
    );
    if (!newer || !older) throw new Error('The catalog lost a snapshot.');
    for (const models of [
      [newer, older],
      [older, newer],
    ]) {
      const catalog = { ...BUILT_IN_CATALOG, models: models.map((model) => ({ ...model, aliases: [] })) };
      expect(lookUpModel(catalog, 'claude-35-sonet', NOW)?.model.model).toBe(newer.model);
      expect(lookUpModel(catalog, 'claude-3-5-sonnet', NOW)?.model.model).toBe(newer.model);
    }
  });

  test('models that share only their name without the pin are not snapshots of one model', () => {
    const [first, second] = BUILT_IN_CATALOG.models.filter(({ model }) => model.startsWith('claude-3-5-sonnet-'));
    if (!first || !second) throw new Error('The catalog lost a snapshot.');
    const catalog = {
      ...BUILT_IN_CATALOG,
      models: [
        { ...first, aliases: [] },
        { ...second, kind: 'image', aliases: [] },
      ],
    };
    expect(lookUpModel(catalog, 'claude-3-5-sonnet', NOW)?.strategy).toBe('fuzzy');
  });
});

describe('a date pin that the catalog does not list', () => {
  test.each<[string, string, boolean]>([
    ['gpt-6-luna-2026-11-24', '2026-11-23', false],
    ['gpt-6-luna-2026-11-24', '2026-11-24', true],
    ['gpt-6-luna-2031-01-01', '2030-12-31', false],
    ['gpt-6-luna-2031-01-01', '2031-01-01', true],
  ])('%s is certain on %s: %s', (name, day, certain) => {
    const nowMs = Date.parse(day);
    expect(matchModel(BUILT_IN_CATALOG, name, nowMs) !== null).toBe(certain);
    expect(lookUpModel(BUILT_IN_CATALOG, name, nowMs)?.strategy).toBe(certain ? 'snapshot' : 'fuzzy');
  });

  test('is marked in every spelling, and no listed name is', () => {
    for (const [name, expected] of SPELLINGS) {
      const pinned = DATED.test(name) && expected !== null && !expected.startsWith('fuzzy');
      const listed = BUILT_IN_CATALOG.models.some(({ model }) => expected?.endsWith(`/${model}`) && DATED.test(model));
      expect([name, lookUpModel(BUILT_IN_CATALOG, name, NOW)?.unlistedPin === true]).toEqual([name, pinned && !listed]);
    }
  });
});

describe("Bedrock's ids", () => {
  // The table of Anthropic's page on Bedrock, and the prefixes of its inference profiles.
  const IDS = {
    'claude-sonnet-4-5-20250929-v1:0': 'claude-sonnet-4-5-20250929',
    'claude-opus-4-6-v1': 'claude-opus-4-6',
    'claude-sonnet-4-6': 'claude-sonnet-4-6',
    'claude-sonnet-4-20250514-v1:0': 'claude-sonnet-4-20250514',
    'claude-3-7-sonnet-20250219-v1:0': 'claude-3-7-sonnet-20250219',
    'claude-opus-4-5-20251101-v1:0': 'claude-opus-4-5-20251101',
    'claude-opus-4-1-20250805-v1:0': 'claude-opus-4-1-20250805',
    'claude-opus-4-20250514-v1:0': 'claude-opus-4-20250514',
    'claude-haiku-4-5-20251001-v1:0': 'claude-haiku-4-5-20251001',
    'claude-3-5-haiku-20241022-v1:0': 'claude-3-5-haiku-20241022',
    'claude-opus-5-5': 'claude-opus-5-5',
  };
  test.each(['', 'global.', 'us.', 'eu.', 'jp.', 'au.', 'apac.'])('with the prefix %j are priced', (prefix) => {
    for (const [id, model] of Object.entries(IDS))
      expect([id, priced(`${prefix}anthropic.${id}`)]).toEqual([id, `normalized anthropic/${model}`]);
  });
});
