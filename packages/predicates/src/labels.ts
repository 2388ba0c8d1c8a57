/** Characters of the key of a label. */
export const LABEL_KEY_TEXT = /^(?!__proto__$)[a-z0-9._-]{1,63}$/

/** True for a text that can be the key of a label. Programs cannot keep a member named `__proto__` like others, so it is none. */
export function isLabelKey(text: string): boolean {
  return LABEL_KEY_TEXT.test(text)
}

/** Maximum number of labels of a device. */
export const MAX_LABELS = 64
/** Longest value of a label, in characters. */
export const MAX_LABEL_LENGTH = 255
