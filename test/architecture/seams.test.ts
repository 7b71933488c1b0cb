import { describe, expect, it } from 'vitest';
import { filesBelow, importsOf } from './source-files.ts';

/** What stands behind an interface, and the only files that may import it besides itself. */
interface Seam {
  readonly title: string;
  /** Files of these folders alone are looked at. */
  readonly within: RegExp;
  readonly behind: RegExp;
  readonly by: RegExp;
}

const SEAMS: readonly Seam[] = [
  {
    title: 'Redis: within the Celery source, brokers and result backends in Redis, and who chooses them',
    within: /^src\/sources\/celery\//,
    behind: /^src\/redis\/|^src\/sources\/celery\/(?:brokers|backends)\/redis\//,
    by: /^src\/sources\/celery\/(?:(?:brokers|backends)\/redis\/|connect\.ts$)/,
  },
  {
    title: 'RabbitMQ: within the Celery source, the broker in RabbitMQ, and who chooses it',
    within: /^src\/sources\/celery\//,
    behind: /^src\/amqp\/|^src\/sources\/celery\/brokers\/amqp\//,
    by: /^src\/sources\/celery\/(?:brokers\/amqp\/|connect\.ts$)/,
  },
  {
    title: 'decoding and lineage: know no broker, no backend, no Redis and no RabbitMQ',
    within: /^src\/sources\/celery\/(?:protocol|lineage)\//,
    behind:
      /^src\/(?:redis|amqp)\/|^src\/sources\/celery\/(?:brokers|backends|broker\.ts|result-backend\.ts)/,
    by: /^$/,
  },
  {
    title: 'the packed history: files of the history alone',
    within: /^src\//,
    behind: /^src\/history\/(?:table|index|answers)\//,
    by: /^src\/history\//,
  },
];

describe('what stands behind an interface', () => {
  it.each(SEAMS)('is imported by few: $title', ({ within, behind, by }) => {
    const strays = filesBelow('src', ['.ts', '.tsx'])
      .filter(({ path }) => within.test(path) && !by.test(path))
      .flatMap((file) =>
        importsOf(file)
          .filter((target) => behind.test(target))
          .map((target) => `${file.path} -> ${target}`),
      );
    expect(strays).toEqual([]);
  });
});
