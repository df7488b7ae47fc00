import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Beside this file, so that packages are found; it exists only in memory. */
const PATH = fileURLToPath(new URL('sdk-types-of-values.ts', import.meta.url));

const HEAD = `import type Mux from '@mux/mux-node';
type Mutable<T> = { -readonly [Name in keyof T]: Mutable<T[Name]> };`;

/**
 * What is wrong with values as a type of the official SDK for Node.js, in the words of the
 * compiler: fields that are missing or of another type. The SDK itself checks nothing, so each
 * value is compiled as a literal. Fields that the type does not declare are allowed: Mux sends
 * some.
 * @param type such as `Mux.Webhooks.UnwrapWebhookEvent`
 */
export const sdkTypeProblems = (type: string, values: readonly object[]): string[] => {
  const lines = values.map(
    (value, index) =>
      `const v${index} = ${JSON.stringify(value)} as const; export const t${index}: ${type} = {} as Mutable<typeof v${index}>;`,
  );
  const text = `${HEAD}\n${lines.join('\n')}\n`;
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, ...rest) =>
    name === PATH ? ts.createSourceFile(name, text, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
  host.fileExists = (name) => name === PATH || fileExists(name);
  host.readFile = (name) => (name === PATH ? text : readFile(name));
  const program = ts.createProgram([PATH], options, host);
  const source = program.getSourceFile(PATH)!;
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map(({ messageText, start }) => {
    const { line } = source.getLineAndCharacterOfPosition(start ?? 0);
    return `${line - HEAD.split('\n').length}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
};
