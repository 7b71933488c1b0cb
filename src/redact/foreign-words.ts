/** Finds the word for password in scripts other than Latin. */
import { isSameLetter } from './automaton.ts';
import { backslashesBefore, codeAt, escapedUnit } from './units.ts';

/** The word for password in non-Latin scripts. A key that contains one names a secret. `-` is an optional separator. */
const FOREIGN = `пароль пароля паролі гасло лозинка парола құпиясөз κωδικός-πρόσβασης συνθηματικό סיסמה סיסמא
  كلمة-المرور كلمة-السر كلمة-سر كلمة-مرور الباسورد باسورد باسوورد رمز-عبور رمز-المرور کلمه-عبور گذرواژه پاس-ورڈ پاسورد
  पासवर्ड कूटशब्द संकेतशब्द গুপ্তশব্দ পাসওয়ার্ড ਪਾਸਵਰਡ પાસવર્ડ ପାସୱାର୍ଡ ಪಾಸ್-ವರ್ಡ್ పాస్-వర్డ్ கடவுச்சொல் பாஸ்-வேர்ட் പാസ്-വേഡ്
  മുරපදය රහස්-පදය รหัสผ่าน လျှို့ဝှက်နံပါတ် ពាក្យសម្ងាត់ პაროლი գաղտնաբառ የይለፍ-ቃል 密码 密碼 口令 密語 暗証番号 合言葉 パスワード
  パスフレーズ 비밀번호 패스워드`;

/** The words of {@link FOREIGN}, with a `-` at each possible separator. */
export function foreignStems(): string[] {
  const words = FOREIGN.split(/\s+/).flatMap((word) => [word, word.replaceAll('-', '')]);
  // Some letters have both a one-character and a two-character form.
  return [
    ...new Set(
      words.flatMap((word) => [word, word.normalize('NFC'), word.replaceAll('\u09af\u09bc', '\u09df')]),
    ),
  ];
}

const plainOf = (text: string): string =>
  text
    .toLowerCase()
    .normalize('NFD')
    .replace(/[\u0300-\u036f]|\u200c|\u200d|[\s_.-]/g, '');
const FOREIGN_WORDS = [...new Set(foreignStems().map(plainOf))];

/** Whether a text contains the word for password in a script other than Latin. */
export function hasForeignWord(text: string): boolean {
  const plain = plainOf(text);
  return FOREIGN_WORDS.some((word) => plain.includes(word));
}

/** Whether one of the {@link foreignStems} ends at an index of a text. Its letters may be escaped. */
export function endsInForeignWord(text: string, word: string, end: number): boolean {
  let at = end;
  for (let index = word.length - 1; index >= 0; index--) {
    const escaped = codeAt(text, at - 6) === 92 ? escapedUnit(text, at - 5) : null;
    const isEscaped = escaped?.end === at;
    if (!isSameLetter(isEscaped ? escaped.code : codeAt(text, at - 1), codeAt(word, index))) return false;
    at = isEscaped ? backslashesBefore(text, at - 5) : at - 1;
  }
  return true;
}
