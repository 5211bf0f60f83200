/**
 * The mutants of a source file: each is one small change to its text, by a classic operator. Types, imports and the
 * messages of thrown errors have none: the compiler checks the first two, and no promise covers the words of a bug.
 */
import { parseSync } from 'vite';

export interface Mutant {
  /** The path in the repository, with slashes. */
  file: string;
  line: number;
  operator: string;
  start: number;
  end: number;
  original: string;
  replacement: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

const OTHER_OPERATORS: Record<string, string[]> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '+=': ['-='],
  '-=': ['+='],
};

const OPERATOR_NAMES: Record<string, string> = {
  BinaryExpression: 'operator',
  LogicalExpression: 'logic',
  AssignmentExpression: 'operator',
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

export function mutantsOf(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const mutants: Mutant[] = [];
  const add = (operator: string, { start, end }: { start: number; end: number }, replacement: string) => {
    const line = source.slice(0, start).split('\n').length;
    mutants.push({ file, line, operator, start, end, original: source.slice(start, end), replacement });
  };
  const visit = (node: Node, parent: Node | null) => {
    if (skipped(node, parent)) return;
    mutate(node, parent, source, add);
    for (const value of Object.values(node))
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, node);
  };
  visit(program as unknown as Node, null);
  return mutants;
}

function skipped(node: Node, parent: Node | null): boolean {
  if (node.type === 'TSAsExpression' || node.type === 'TSSatisfiesExpression' || node.type === 'TSNonNullExpression')
    return false;
  if (node.type.startsWith('TS') || node.type.startsWith('Import') || node.type === 'ThrowStatement') return true;
  // The name of a property, a source to re-export from.
  return node.type === 'Literal' && parent !== null && (parent.key === node || parent.source === node);
}

type Add = (operator: string, place: { start: number; end: number }, replacement: string) => void;

function mutate(node: Node, parent: Node | null, source: string, add: Add): void {
  const text = (of: unknown) => source.slice((of as Node).start, (of as Node).end);
  switch (node.type) {
    case 'Literal':
      literal(node, add);
      break;
    case 'TemplateLiteral':
      if (parent?.type !== 'TaggedTemplateExpression') add('text', node, '``');
      break;
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      const between = { start: (node.left as Node).end, end: (node.right as Node).start };
      const operator = String(node.operator);
      const at = source.indexOf(operator, between.start);
      for (const other of OTHER_OPERATORS[operator] ?? [])
        add(OPERATOR_NAMES[node.type] as string, { start: at, end: at + operator.length }, other);
      break;
    }
    case 'UnaryExpression':
      if (node.operator === '!' || node.operator === '-') add('operator', node, `(${text(node.argument)})`);
      break;
    case 'UpdateExpression':
      add(
        'operator',
        node,
        text(node).includes('++') ? text(node).replace('++', '--') : text(node).replace('--', '++'),
      );
      break;
    case 'IfStatement':
    case 'ConditionalExpression':
      add('condition', node.test as Node, `!(${text(node.test)})`);
      break;
    case 'ReturnStatement':
      if (node.argument) add('return', node.argument as Node, '(undefined as never)');
      break;
    case 'ArrowFunctionExpression':
      if (node.expression) add('return', node.body as Node, '(undefined as never)');
      break;
    case 'ExpressionStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
      // Biome's style: no directive stands in these files.
      add('statement', node, ';');
      break;
  }
}

function literal(node: Node, add: Add): void {
  const { value } = node;
  if (typeof value === 'boolean') add('boolean', node, String(!value));
  else if (typeof value === 'string') add('text', node, value === '' ? "'mutant'" : "''");
  else if (typeof value === 'number') {
    add('number', node, `(${value + 1})`);
    add('number', node, `(${value - 1})`);
  } else if (typeof value === 'bigint') {
    add('number', node, `(${value + 1n}n)`);
    add('number', node, `(${value - 1n}n)`);
  }
}
