/**
 * The content of one chat message as blocks of Anthropic: texts, images and files, with their marks for prompt caching.
 */
import type {
  CacheControlEphemeral,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import { type Fields, fieldsOrEmpty, isFields } from '../../vendors/usage/figures.ts';
import type { Refusals } from './refusals.ts';

export type ContentBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam;

type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] satisfies ImageType[];

const DATA_URL = /^data:([^;,]*);base64,/i;
/** Anthropic always looks at the whole image, so a lower detail cannot be asked for. */
const IMAGE_DETAILS: readonly unknown[] = [undefined, null, 'auto', 'high', 'original'];

type PartReader = (part: Fields, at: string, refusals: Refusals) => ContentBlock | undefined;

const PARTS: Readonly<Record<string, PartReader>> = {
  text(part, at, refusals) {
    refusals.unknown(part, ['type', 'text', 'cache_control'], at);
    const text = refusals.text(part.text, `${at}.text`);
    return textBlock(text, readCacheMark(part, at, refusals));
  },
  refusal(part, at, refusals) {
    refusals.unknown(part, ['type', 'refusal', 'cache_control'], at);
    const text = refusals.text(part.refusal, `${at}.refusal`);
    return textBlock(text, readCacheMark(part, at, refusals));
  },
  image_url(part, at, refusals) {
    refusals.unknown(part, ['type', 'image_url', 'cache_control'], at);
    const image = refusals.object(part.image_url, `${at}.image_url`);
    refusals.unknown(image, ['url', 'detail'], `${at}.image_url`);
    if (!IMAGE_DETAILS.includes(image.detail))
      refusals.add(`${at}.image_url.detail`, 'cannot be lowered: Anthropic always looks at the whole image');
    const source = imageSource(refusals.text(image.url, `${at}.image_url.url`), `${at}.image_url.url`, refusals);
    return source && { type: 'image', source, ...readCacheMark(part, at, refusals) };
  },
  file(part, at, refusals) {
    refusals.unknown(part, ['type', 'file', 'cache_control'], at);
    const { file_id: id, file_data: data, filename, ...rest } = refusals.object(part.file, `${at}.file`);
    refusals.unknown(rest, [], `${at}.file`);
    if (id != null) refusals.add(`${at}.file.file_id`, 'names a file at OpenAI: send its content as `file_data`');
    const { mediaType, base64 } = readDataUrl(data);
    if (mediaType !== 'application/pdf') {
      refusals.add(`${at}.file.file_data`, 'must be a data URL of a PDF (data:application/pdf;base64,...)');
      return undefined;
    }
    return {
      type: 'document',
      source: { type: 'base64', media_type: mediaType, data: base64 },
      ...(typeof filename === 'string' && { title: filename }),
      ...readCacheMark(part, at, refusals),
    };
  },
};

/** The parts that a message of each role may have. */
const PARTS_OF = {
  system: ['text'],
  user: ['text', 'image_url', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text', 'image_url', 'file'],
} as const;

/** The blocks of a text, or of a list of parts. Anthropic takes no empty text, so none is sent. */
export function contentBlocks(
  content: unknown,
  role: keyof typeof PARTS_OF,
  at: string,
  refusals: Refusals,
): ContentBlock[] {
  if (content == null) return [];
  if (typeof content === 'string') return [textBlock(content)].filter((block) => block !== undefined);
  if (!Array.isArray(content)) {
    refusals.add(at, 'must be a text or a list of parts');
    return [];
  }
  return content.flatMap((value: unknown, index) => {
    const part = fieldsOrEmpty(value);
    const type = PARTS_OF[role].find((name) => name === part.type);
    const place = `${at}[${index}]`;
    if (type === undefined) {
      refusals.add(`${place}.type`, `must be one of ${PARTS_OF[role].join(', ')} in a ${role} message`);
      return [];
    }
    return PARTS[type]?.(part, place, refusals) ?? [];
  });
}

/** The blocks of a content that may only have texts. */
export function textBlocks(content: unknown, role: 'system' | 'assistant', at: string, refusals: Refusals) {
  return contentBlocks(content, role, at, refusals).filter((block) => block.type === 'text');
}

/** Anthropic's mark for prompt caching, which callers put on parts, messages and tools. */
export function readCacheMark(
  { cache_control: mark }: Fields,
  at: string,
  refusals: Refusals,
): { cache_control?: CacheControlEphemeral } {
  if (mark == null) return {};
  if (isFields(mark) && mark.type === 'ephemeral') return { cache_control: mark as unknown as CacheControlEphemeral };
  refusals.add(at === '' ? 'cache_control' : `${at}.cache_control`, 'must be an object with the type `ephemeral`');
  return {};
}

function textBlock(text: string, mark = {}): TextBlockParam | undefined {
  return text ? { type: 'text', text, ...mark } : undefined;
}

function imageSource(url: string, param: string, refusals: Refusals): ImageBlockParam['source'] | undefined {
  if (/^https?:\/\//i.test(url)) return { type: 'url', url };
  const { mediaType, base64 } = readDataUrl(url);
  if (IMAGE_TYPES.includes(mediaType)) return { type: 'base64', media_type: mediaType as ImageType, data: base64 };
  refusals.add(param, `must be a link, or a data URL in base64 of one of ${IMAGE_TYPES.join(', ')}`);
  return undefined;
}

function readDataUrl(value: unknown): { mediaType: string; base64: string } {
  const url = typeof value === 'string' ? value : '';
  const begin = DATA_URL.exec(url.slice(0, 100));
  if (begin === null) return { mediaType: '', base64: '' };
  const mediaType = (begin[1] ?? '').toLowerCase();
  return { mediaType: mediaType === 'image/jpg' ? 'image/jpeg' : mediaType, base64: url.slice(begin[0].length) };
}
