// What a compiler with the API of TypeScript 5 and 6 says of several projects, in one process: the
// declarations that they share are parsed once, and the compiler is warm from the second project on.
//   node compile.mjs <folder of the compiler> <folder of a project …>     prints { folder: errors }
// Checks what a host writes and what our package holds. Declarations of other packages are read, not checked.
import { createRequire } from 'node:module';

const [, , compiler, ...folders] = process.argv;
const ts = createRequire(import.meta.url)(compiler);

const parsed = new Map();

/** A host of the compiler that keeps what it has parsed for the next project. */
function hostOf(options) {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (path, how, ...rest) => {
    const key = JSON.stringify([path, how]);
    if (!parsed.has(key)) parsed.set(key, getSourceFile.call(host, path, how, ...rest));
    return parsed.get(key);
  };
  return host;
}

function isOfOthers(_program, { fileName }) {
  const [, name] = /.*\/node_modules\/([^/]+)/.exec(fileName) ?? [];
  return name !== undefined && name !== 'express-task-monitor';
}

function compile(folder) {
  const config = ts.getParsedCommandLineOfConfigFile(
    `${folder}/tsconfig.json`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic({ messageText }) {
        throw new Error(messageText);
      },
    },
  );
  const program = ts.createProgram({
    rootNames: config.fileNames,
    options: config.options,
    host: hostOf(config.options),
    configFileParsingDiagnostics: config.errors,
  });
  const checked = program.getSourceFiles().filter((file) => !isOfOthers(program, file));
  const errors = [
    ...program.getConfigFileParsingDiagnostics(),
    ...program.getOptionsDiagnostics(),
    ...program.getSyntacticDiagnostics(),
    ...checked.flatMap((file) => program.getSemanticDiagnostics(file)),
    ...program.getGlobalDiagnostics(),
  ];
  return ts.formatDiagnostics(errors, {
    getCanonicalFileName: (path) => path,
    getCurrentDirectory: () => folder,
    getNewLine: () => '\n',
  });
}

console.log(JSON.stringify(Object.fromEntries(folders.map((folder) => [folder, compile(folder)]))));
