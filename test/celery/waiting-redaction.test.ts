import { describe, expect, it } from 'vitest';
import { createRedactor } from '../../src/redact.ts';
import type { WaitingMessage } from '../../src/sources/celery/broker.ts';
import { createWaitingRows } from '../../src/sources/celery/queues/waiting-rows.ts';

const message = {
  facts: {
    id: 'a',
    name: 'shop.pay',
    args: "('x', 1)",
    kwargs: "{'password': 'hunter2'}",
    stamps: { token: 'hunter2' },
  },
} as unknown as WaitingMessage;

describe('a waiting message', () => {
  it('is redacted when it is first read, and only once', () => {
    const redactor = createRedactor();
    const rows = createWaitingRows(Date.now, redactor);
    expect(rows.row(message)?.id).toBe('a');
    expect(redactor.work.texts).toBe(0);
    for (let reader = 0; reader < 3; reader++) {
      expect(JSON.stringify(rows.row(message))).not.toContain('hunter2');
      expect(JSON.stringify(rows.detail(message))).not.toContain('hunter2');
    }
    expect(redactor.work.texts).toBe(3);
    expect(rows.row(message)).toMatchObject({ kwargs: "{'password': '***'}", redacted: true });
  });

  it('is left as it is without a redactor', () => {
    expect(createWaitingRows(Date.now).row(message)?.kwargs).toBe("{'password': 'hunter2'}");
  });
});
