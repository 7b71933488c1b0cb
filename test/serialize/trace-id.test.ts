import { describe, expect, it } from 'vitest';
import { traceIdOf } from '../../src/model.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('the trace id in a traceparent', () => {
  it.each([
    ['sampled', `00-${TRACE}-${SPAN}-01`],
    ['not sampled', `00-${TRACE}-${SPAN}-00`],
    ['of a later version', `01-${TRACE}-${SPAN}-01`],
    ['of a later version with more members', `cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`],
  ])('is read of one that is valid: %s', (_, traceparent) => {
    expect(traceIdOf(traceparent)).toBe(TRACE);
  });

  it.each([
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['more members than version 00 has', `00-${TRACE}-${SPAN}-01-x`],
    ['a short trace id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['no flags', `00-${TRACE}-${SPAN}`],
    ['text around it', ` 00-${TRACE}-${SPAN}-01`],
    ['another header', `${TRACE}-${SPAN}-1`],
    ['a very long text', `01-${TRACE}-${SPAN}-01-${'x'.repeat(1_000)}`],
    ['an empty text', ''],
    ['a list', [`00-${TRACE}-${SPAN}-01`]],
    ['nothing', undefined],
  ])('is null of %s', (_, traceparent) => {
    expect(traceIdOf(traceparent)).toBeNull();
  });
});
