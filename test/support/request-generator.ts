/**
 * Random requests to AI vendors: fields of the types of the SDKs and of the tables that describe the endpoints, with
 * values of their types and some that are not, so that no list of requests limits the tries.
 */
import type { Members, Rule, TypedMembers } from '../../src/gateway/demand/rules.ts';
import type { Random } from '../crash/random.ts';
import { REQUEST_TYPES, type RequestForm } from './request-types.ts';
import { type Member, membersOf, optionsOf, type Shape } from './sdk-types.ts';

export type Json = Record<string, unknown>;

/** A file of a form. */
export class MadeFile {
  readonly name: string;
  readonly type: string;
  readonly content: Buffer<ArrayBuffer>;

  constructor(name: string, type: string, base64: string) {
    this.name = name;
    this.type = type;
    this.content = Buffer.from(base64, 'base64');
  }
}

/** Objects inside of each other, at most; deeper ones are empty. */
const DEPTH_MAX = 9;
const LIST_LENGTH_MAX = 3;
/** Members that a type requires, and those without which a request has no content. */
const ALWAYS: Partial<Record<RequestForm, readonly string[]>> = {
  responses: ['input'],
  generateContent: ['contents'],
  embedContent: ['content'],
  batchEmbedContents: ['requests'],
};

const NUMBERS = [0, 1, 1, 2, 3, -1, 0.5, 2.5, 7, 100, 1_024, 5_000, 200_000, 1e9, 1e15, -5];
const WORDS = ['', 'x', 'hello', 'Grüße', '漢字かな', '😀😀', 'a longer text about the weather', '"\\\n\t', 'auto'];
/** One pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
/** One second of silence: 8,000 samples of 16 bits. */
const WAVE = Buffer.concat([
  Buffer.from('524946460000000057415645666d742010000000010001', 'hex'),
  Buffer.from('00401f0000803e000002001000', 'hex'),
  Buffer.from('64617461803e0000', 'hex'),
  Buffer.alloc(16_000),
]).toString('base64');
const CONTENTS = [PNG, WAVE, 'aGVsbG8gd29ybGQ=', 'JVBERi0xLjQK', 'ZkxhQwAAACI=', 'AAAAHGZ0eXA='];
const MEDIA_TYPES = `image/png image/jpeg audio/wav audio/flac audio/mpeg video/mp4 text/plain application/pdf
  application/json IMAGE/PNG application/octet-stream`.split(/\s+/);
const ADDRESSES = [
  `data:image/png;base64,${PNG}`,
  'data:application/pdf;base64,JVBERi0xLjQK',
  'data:text/plain;base64,aGVsbG8=',
  `data:audio/wav;base64,${WAVE}`,
  'https://files.example.com/a',
  'gs://bucket/a',
];
const CONTENT_NAMES = /^(?:data|result|image_data)$/;
const ADDRESS_NAMES = /(?:url|uri|file_data)$/i;
const MEDIA_TYPE_NAMES = /^(?:media_?type|mime_?type)$/i;

export interface Wanted {
  form: RequestForm;
  /** The fields of the endpoint at its vendor. */
  table: Members;
  random: Random;
}

/** The fields of a request, but for its model. */
export function makeRequest({ form, table, random }: Wanted): Json {
  const maker = new Maker(random);
  const [type] = REQUEST_TYPES[form]().slice(-1);
  if (!type) throw new Error(`there is no type of ${form}`);
  const body = maker.members(membersOf(type), ALWAYS[form] ?? [], 0);
  if (random.chance(0.5)) maker.addOf(table, body);
  if (random.chance(0.05)) maker.spoil(body);
  for (const own of ['model', 'customer', 'models', 'tags', 'feature', 'user']) delete body[own];
  return { ...body, ...FILES[form]?.(random) };
}

/** Fields of forms that are files. */
const FILES: Partial<Record<RequestForm, (random: Random) => Json>> = {
  imageEdits: (random) => ({
    image: Array.from({ length: 1 + random.below(3) }, () => new MadeFile('a.png', 'image/png', PNG)),
    ...(random.chance(0.2) && { mask: new MadeFile('m.png', 'image/png', PNG) }),
  }),
  transcriptions: (random) => ({ file: recordingOf(random) }),
  translations: (random) => ({ file: recordingOf(random) }),
};

function recordingOf({ pick }: Random): MadeFile {
  const [name, content] = pick([
    ['a.wav', WAVE],
    ['a.mp3', 'SUQzBAAAAAAAAA=='],
    ['a.flac', 'ZkxhQwAAACI='],
    ['a.mp3', 'ZkxhQwAAACI='],
  ] as const);
  return new MadeFile(name, pick(['audio/wav', 'audio/mpeg', 'application/octet-stream']), content);
}

class Maker {
  readonly #random: Random;
  /** How likely an optional member is. */
  readonly #density: number;

  constructor(random: Random) {
    this.#random = random;
    this.#density = random.pick([0, 0.01, 0.02, 0.04, 0.1, 0.4]);
  }

  members(members: ReadonlyMap<string, Member>, always: readonly string[], depth: number): Json {
    const made: Json = {};
    for (const [name, { shape, optional }] of members) {
      if (optional && !always.includes(name) && !this.#random.chance(this.#density)) continue;
      made[name] = this.#random.chance(0.01) ? null : this.#shape(shape, name, depth + 1);
    }
    return made;
  }

  /** A few fields of a table, as its rules describe them. */
  addOf(table: Members, body: Json): void {
    const names = Object.keys(table);
    const wanted = this.#random.below(3);
    for (let added = 0; added < wanted; added += 1) {
      const name = this.#random.pick(names);
      body[name] = this.#rule(table[name] as Rule, name, 1);
    }
  }

  /** An unknown field, or a value of another type, at some place. */
  spoil(body: Json): void {
    let at: Json | unknown[] = body;
    for (let depth = this.#random.below(DEPTH_MAX); depth > 0; depth -= 1) {
      const inside: unknown[] = Object.values(at).filter((value) => typeof value === 'object' && value !== null);
      if (inside.length > 0) at = this.#random.pick(inside) as Json | unknown[];
    }
    const name = this.#random.chance(0.5) ? 'from_tomorrow' : this.#random.pick(Object.keys(at));
    if (Array.isArray(at)) at.push(this.#any('', 0));
    else if (name !== undefined) at[name] = this.#any(name, 0);
  }

  #shape(shape: Shape, name: string, depth: number): unknown {
    switch (shape.kind) {
      case 'text':
        return this.#text(name);
      case 'number':
        return this.#random.pick(NUMBERS);
      case 'truth':
        return this.#random.chance(0.5);
      case 'any':
        return this.#any(name, depth);
      case 'literal':
        return shape.value;
      case 'list':
        return this.#list(depth, () => this.#shape(shape.item(), name, depth + 1));
      case 'object':
        return depth > DEPTH_MAX ? {} : this.members(membersOf(shape), [], depth);
      case 'union':
        return this.#shape(this.#option(shape, depth), name, depth);
    }
  }

  /** Often text, which every vendor takes; near the greatest depth, shapes without further levels. */
  #option(shape: Shape, depth: number): Shape {
    const options = optionsOf(shape);
    const plain = options.filter(({ kind }) => kind !== 'object' && kind !== 'list');
    if (plain.length > 0 && (depth >= DEPTH_MAX || this.#random.chance(0.3))) return this.#random.pick(plain);
    return this.#random.pick(options);
  }

  #list(depth: number, item: () => unknown): unknown[] {
    const length = depth > DEPTH_MAX ? 0 : 1 + this.#random.below(LIST_LENGTH_MAX);
    return Array.from({ length }, item);
  }

  #text(name: string): string {
    const { pick, chance } = this.#random;
    if (CONTENT_NAMES.test(name) && chance(0.95)) return pick(CONTENTS);
    if (ADDRESS_NAMES.test(name) && chance(0.95)) return pick(ADDRESSES);
    if (MEDIA_TYPE_NAMES.test(name) && chance(0.95)) return pick(MEDIA_TYPES);
    return chance(0.1) ? pick(WORDS).repeat(this.#random.below(300)) : pick(WORDS);
  }

  #any(name: string, depth: number): unknown {
    const { below } = this.#random;
    switch (below(depth > DEPTH_MAX ? 3 : 6)) {
      case 0:
        return this.#text(name);
      case 1:
        return this.#random.pick(NUMBERS);
      case 2:
        return String(this.#random.pick(NUMBERS));
      case 3:
        return this.#random.chance(0.5);
      case 4:
        return this.#list(depth, () => this.#any(name, depth + 1));
      default:
        return {
          type: this.#text('type'),
          [this.#random.pick(['text', 'id', 'data', 'url'])]: this.#any(name, depth + 1),
        };
    }
  }

  #rule(rule: Rule, name: string, depth: number): unknown {
    if (rule === 'value') return this.#random.pick([this.#text(name), this.#random.pick(NUMBERS), true, [1, 2], ['x']]);
    if (rule === 'any') return this.#any(name, depth);
    if (rule === 'link') return this.#random.pick(ADDRESSES);
    if (rule === 'content') return this.#random.pick([...ADDRESSES, ...CONTENTS]);
    if ('only' in rule) return this.#random.pick(rule.only);
    if ('text' in rule) return this.#rule(this.#random.chance(0.5) ? rule.text : rule.object, name, depth);
    if ('list' in rule) return this.#list(depth, () => this.#rule(rule.list, name, depth + 1));
    if ('members' in rule) return this.#someOf(rule.members, depth);
    if ('types' in rule) return this.#typed(rule.types, depth);
    return this.#rule(rule.of, name, depth);
  }

  #someOf(members: Members, depth: number): Json {
    const names = Object.keys(members).filter(() => depth <= DEPTH_MAX && this.#random.chance(0.3));
    return Object.fromEntries(names.map((name) => [name, this.#rule(members[name] as Rule, name, depth + 1)]));
  }

  #typed(types: Readonly<Record<string, TypedMembers>>, depth: number): Json {
    const type = this.#random.pick(Object.keys(types));
    return { type, ...this.#someOf(types[type]?.members ?? {}, depth) };
  }
}
