/**
 * The types of requests in the SDKs of OpenAI, Anthropic and Google, read from the installed declarations.
 *
 * A shape says what JSON a field may hold. Only the syntax is read, so that it takes a second and no type check; types
 * that are not JSON (streams, files, callbacks) or have a type parameter are `any`.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ts } from '@ts-morph/common';

export type Shape =
  | { kind: 'text' | 'number' | 'truth' | 'any' }
  | { kind: 'literal'; value: string | number | boolean }
  | { kind: 'list'; item: () => Shape }
  /** `name` is the one that its SDK gives it, or a place in the declarations. */
  | { kind: 'object'; name: string; members: () => ReadonlyMap<string, Member> }
  | { kind: 'union'; options: readonly Shape[] };

export interface Member {
  shape: Shape;
  optional: boolean;
}

const NODE_MODULES = join(import.meta.dirname, '../../node_modules');
const ANY: Shape = { kind: 'any' };
/** Wrappers that do not change the possible JSON, or only leave members out. */
const TRANSPARENT = new Set(['Partial', 'Readonly', 'Required', 'NonNullable', 'Omit', 'Pick', 'Exclude']);
const LISTS = new Set(['Array', 'ReadonlyArray', 'Iterable', 'Set']);

type Declaration = ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.EnumDeclaration;

/** A file of declarations. */
interface Declared {
  path: string;
  /** By their name, with the namespaces that they are in: `Tool.Mcp`. */
  types: Map<string, Declaration>;
  /** The path of the file that a name was imported from, and its name there; `*` for the whole file. */
  imports: Map<string, { from: string; name: string }>;
}

/** The place of a type, which decides the meaning of the names in it. */
interface Place {
  file: Declared;
  /** The namespaces around it. */
  within: readonly string[];
}

const files = new Map<string, Declared>();

/** The shape of a type, such as `ResponseCreateParamsBase` of `openai/resources/responses/responses.d.ts`. */
export function sdkType(path: string, name: string): Shape {
  const place: Place = { file: fileAt(join(NODE_MODULES, path)), within: [] };
  const found = declarationOf(place, name.split('.'));
  if (!found) throw new Error(`${path} declares no ${name}`);
  return shapeOfDeclaration(found);
}

/** The members that objects of a shape have, including those of all options of a union. */
export function membersOf(shape: Shape): ReadonlyMap<string, Member> {
  if (shape.kind === 'object') return shape.members();
  if (shape.kind !== 'union') return new Map();
  return new Map(shape.options.flatMap((option) => [...membersOf(option)]));
}

/** The options of a union, or the shape itself. */
export function optionsOf(shape: Shape): readonly Shape[] {
  return shape.kind === 'union' ? shape.options : [shape];
}

function fileAt(path: string): Declared {
  const known = files.get(path);
  if (known) return known;
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true);
  const declared: Declared = { path, types: new Map(), imports: new Map() };
  declare(declared, source.statements, []);
  files.set(path, declared);
  return declared;
}

function declare(file: Declared, statements: readonly ts.Statement[], within: readonly string[]): void {
  for (const statement of statements) {
    if (ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) || ts.isEnumDeclaration(statement))
      file.types.set([...within, statement.name.text].join('.'), statement);
    else if (ts.isClassDeclaration(statement) && statement.name)
      file.types.set([...within, statement.name.text].join('.'), statement as unknown as ts.InterfaceDeclaration);
    else if (ts.isModuleDeclaration(statement) && statement.body && ts.isModuleBlock(statement.body))
      declare(file, statement.body.statements, [...within, statement.name.text]);
    else if (ts.isImportDeclaration(statement)) addImports(file, statement);
  }
}

function addImports(file: Declared, { importClause, moduleSpecifier }: ts.ImportDeclaration): void {
  const specifier = (moduleSpecifier as ts.StringLiteral).text;
  if (!specifier.startsWith('.')) return;
  const from = join(dirname(file.path), specifier.replace(/(?:\.d\.ts|\.m?js)?$/, '.d.ts'));
  const bindings = importClause?.namedBindings;
  if (!bindings) return;
  if (ts.isNamespaceImport(bindings)) file.imports.set(bindings.name.text, { from, name: '*' });
  else
    for (const { name, propertyName } of bindings.elements)
      file.imports.set(name.text, { from, name: (propertyName ?? name).text });
}

interface Found {
  declaration: Declaration;
  place: Place;
  name: string;
}

function declarationOf({ file, within }: Place, name: readonly string[]): Found | null {
  for (let depth = within.length; depth >= 0; depth -= 1) {
    const full = [...within.slice(0, depth), ...name];
    const declaration = file.types.get(full.join('.'));
    // Names in an interface of a namespace of the same name are looked up in that namespace, too.
    if (declaration) return { declaration, place: { file, within: full }, name: full.join('.') };
  }
  const [first = '', ...rest] = name;
  const imported = file.imports.get(first);
  if (!imported) return null;
  const place: Place = { file: fileAt(imported.from), within: [] };
  return declarationOf(place, imported.name === '*' ? rest : [imported.name, ...rest]);
}

function shapeOfDeclaration({ declaration, place, name }: Found): Shape {
  if (ts.isEnumDeclaration(declaration)) {
    const values = declaration.members.map(({ initializer }) =>
      initializer && ts.isStringLiteral(initializer) ? initializer.text : '',
    );
    return { kind: 'union', options: values.map((value): Shape => ({ kind: 'literal', value })) };
  }
  if (ts.isTypeAliasDeclaration(declaration)) return readShape(declaration.type, place);
  return lazyObject(name, () => membersOfInterface(declaration, place));
}

function lazyObject(name: string, read: () => Map<string, Member>): Shape {
  let members: Map<string, Member> | undefined;
  return {
    kind: 'object',
    name,
    members: () => {
      members ??= read();
      return members;
    },
  };
}

function membersOfInterface({ heritageClauses, members }: ts.InterfaceDeclaration, place: Place): Map<string, Member> {
  const outer: Place = { ...place, within: place.within.slice(0, -1) };
  const inherited = (heritageClauses ?? []).flatMap(({ types }) =>
    types.flatMap(({ expression, typeArguments }) => {
      const name = expression.getText();
      const of =
        TRANSPARENT.has(name) && typeArguments?.[0] ? readShape(typeArguments[0], outer) : referred(name, outer);
      const left = name === 'Omit' ? optionsOf(readShape(typeArguments?.[1] as ts.TypeNode, outer)) : [];
      return [...membersOf(of)].filter(([member]) => !left.some((one) => 'value' in one && one.value === member));
    }),
  );
  return new Map([...inherited, ...membersIn(members, place)]);
}

function membersIn(elements: readonly (ts.TypeElement | ts.Node)[], place: Place): [string, Member][] {
  return elements.flatMap((element): [string, Member][] => {
    if (!(ts.isPropertySignature(element) || ts.isPropertyDeclaration(element)) || !element.type) return [];
    const name = ts.isStringLiteral(element.name) ? element.name.text : element.name.getText();
    return [[name, { shape: readShape(element.type, place), optional: element.questionToken !== undefined }]];
  });
}

function readShape(type: ts.TypeNode, place: Place): Shape {
  switch (type.kind) {
    case ts.SyntaxKind.StringKeyword:
      return { kind: 'text' };
    case ts.SyntaxKind.NumberKeyword:
      return { kind: 'number' };
    case ts.SyntaxKind.BooleanKeyword:
      return { kind: 'truth' };
  }
  if (ts.isParenthesizedTypeNode(type)) return readShape(type.type, place);
  if (ts.isTypeOperatorNode(type)) return readShape(type.type, place);
  if (ts.isLiteralTypeNode(type)) return literalOf(type) ?? ANY;
  if (ts.isArrayTypeNode(type)) return { kind: 'list', item: () => readShape(type.elementType, place) };
  if (ts.isUnionTypeNode(type)) return unionOf(type, place);
  if (ts.isTypeLiteralNode(type)) {
    const isOpen = type.members.some(ts.isIndexSignatureDeclaration);
    if (isOpen) return ANY;
    const name = `${place.within.join('.')}@${type.pos}`;
    return lazyObject(name, () => new Map(membersIn(type.members, place)));
  }
  if (ts.isIntersectionTypeNode(type)) {
    const parts = type.types.map((part) => readShape(part, place));
    // `string & {}` is any text.
    const plain = parts.find(({ kind }) => kind !== 'object' && kind !== 'any');
    if (plain && plain.kind !== 'union') return plain;
    return lazyObject(`${place.within.join('.')}@${type.pos}`, () => new Map(parts.flatMap((p) => [...membersOf(p)])));
  }
  if (ts.isTypeReferenceNode(type)) return shapeOfReference(type, place);
  return ANY;
}

function literalOf({ literal }: ts.LiteralTypeNode): Shape | null {
  if (ts.isStringLiteral(literal)) return { kind: 'literal', value: literal.text };
  if (ts.isNumericLiteral(literal)) return { kind: 'literal', value: Number(literal.text) };
  if (literal.kind === ts.SyntaxKind.TrueKeyword) return { kind: 'literal', value: true };
  if (literal.kind === ts.SyntaxKind.FalseKeyword) return { kind: 'literal', value: false };
  return null;
}

/** Without `null` and `undefined`, which any optional field may be. */
function unionOf({ types }: ts.UnionTypeNode, place: Place): Shape {
  const isNothing = (type: ts.TypeNode) =>
    type.kind === ts.SyntaxKind.UndefinedKeyword ||
    (ts.isLiteralTypeNode(type) && type.literal.kind === ts.SyntaxKind.NullKeyword);
  const options = types.filter((type) => !isNothing(type)).flatMap((type) => optionsOf(readShape(type, place)));
  const [only] = options;
  return options.length === 1 && only ? only : { kind: 'union', options };
}

function shapeOfReference(type: ts.TypeReferenceNode, place: Place): Shape {
  const name = type.typeName.getText();
  const [argument] = type.typeArguments ?? [];
  if (argument && LISTS.has(name)) return { kind: 'list', item: () => readShape(argument, place) };
  if (argument && TRANSPARENT.has(name)) return readShape(argument, place);
  return referred(name, place);
}

function referred(name: string, place: Place): Shape {
  const found = declarationOf(place, name.split('.'));
  return found ? shapeOfDeclaration(found) : ANY;
}
