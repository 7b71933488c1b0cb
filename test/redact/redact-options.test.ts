import { describe, expect, it } from 'vitest';
import { createRedactor, type RedactFunction } from '../../src/redact.ts';

const TEXT = "{'password': 'p', 'customerTaxId': 't', 'taxidermist': 'x', 'url': 'redis://u:p@h'}";

describe('the redact option', () => {
  it('shows everything when it is false', () => {
    const { text, isSecretKey } = createRedactor(false);
    expect(text(TEXT)).toBe(TEXT);
    expect(isSecretKey('password')).toBe(false);
  });

  it.each(['tax id', 'TAX_ID', 'taxId', /^customer/, /TAXID$/gi])('takes further keys: %s', (key) => {
    const { text, isSecretKey } = createRedactor({ keys: [key] });
    const shown = "{'password': '***', 'customerTaxId': '***', 'taxidermist': 'x', 'url': 'redis://***@h'}";
    expect(text(TEXT)).toBe(shown);
    // A pattern with a memory must not tell another thing the second time.
    expect(text(TEXT)).toBe(shown);
    expect(isSecretKey('customerTaxId')).toBe(true);
  });

  it('takes keys in place of ours, and still hides what shows by its form', () => {
    const { text } = createRedactor({ keys: ['tax id'], replaceKeys: true });
    expect(text(TEXT)).toBe(
      "{'password': 'p', 'customerTaxId': '***', 'taxidermist': 'x', 'url': 'redis://***@h'}",
    );
  });

  it("asks the host's function after our rules, with the field", () => {
    const { text } = createRedactor({ redact: (shown, field) => `${field}: ${shown}` });
    expect(text("{'token': 'x'}", 'kwargs')).toBe("kwargs: {'token': '***'}");
  });

  it("lets the host's function replace our rules", () => {
    const { text, isSecretKey } = createRedactor((shown) => shown.toUpperCase());
    expect(text("{'token': 'x'}")).toBe("{'TOKEN': 'X'}");
    expect(isSecretKey('token')).toBe(false);
  });

  it.each([
    () => {
      throw new Error('no');
    },
    () => undefined as unknown as string,
    () => Promise.resolve('x') as unknown as string,
  ])("shows nothing when the host's function fails", (redact: RedactFunction) => {
    expect(createRedactor({ redact }).text('a')).toBe('***');
  });

  it.each([
    [
      true,
      "'redact' must be an object such as { keys: ['tax id'] }, a function (text, field) => text, or false.",
    ],
    [null, "'redact' must be an object such as"],
    [['password'], "'redact' must be an object such as"],
    [{ key: ['x'] }, "'redact.key' is not an option; the options are keys, replaceKeys, redact."],
    [
      { keys: 'x' },
      "'redact.keys' must be an array of names and patterns such as ['tax id', /^x-internal-/i].",
    ],
    [{ keys: [''] }, "'redact.keys' must be an array"],
    [{ keys: [1] }, "'redact.keys' must be an array"],
    [{ replaceKeys: 1 }, "'redact.replaceKeys' must be true or false."],
    [{ redact: 'x' }, "'redact.redact' must be a function such as (text, field) => text."],
  ])('says what to write instead of %j', (option, message) => {
    expect(() => createRedactor(option as unknown as false)).toThrow(TypeError);
    expect(() => createRedactor(option as unknown as false)).toThrow(`express-task-monitor: ${message}`);
  });
});
