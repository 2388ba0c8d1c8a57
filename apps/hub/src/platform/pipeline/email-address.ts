import { domainToASCII, domainToUnicode } from 'node:url'
import { ruleBroken } from './input-rules.ts'

/** Maximum length, in characters, of a domain name in ASCII (RFC 1035 2.3.4). */
const MAX_DOMAIN_LENGTH = 253
/** Maximum length, in characters, of a label of a domain name in ASCII (RFC 1035 2.3.4). */
const MAX_LABEL_LENGTH = 63

/**
 * An email address that has one canonical form. `canonical` identifies its account: both parts in lower case by ASCII rules, the domain in
 * ASCII (IDNA, UTS 46). `spellings` are all stable forms of the address in lower case: with the domain in ASCII, and in Unicode.
 */
type StableEmail = { canonical: string; spellings: string[] }

/** Reason why an address is not stable: Unicode normalization, case folding or IDNA would change it to another text. */
type UnstableEmail = { problem: string }

/**
 * Finds the canonical form of an email address (docs/decisions.md, "Accounts"). Letters beyond ASCII are never folded, since the result
 * depends on Unicode tables: `lower('İ')` is `i` in some databases. An address with such letters in upper case is not stable.
 */
export function readEmail(email: string): StableEmail | UnstableEmail {
  const plain = email.normalize('NFKC')
  if (plain !== email)
    return { problem: `found characters with a plainer form in Unicode (NFKC), expected ${plain}` }
  const at = email.lastIndexOf('@')
  if (at < 1) return { problem: `found ${email}, expected an email address` }
  const local = foldAscii(email.slice(0, at))
  if (local !== local.toLowerCase())
    return { problem: `found ${email.slice(0, at)}, expected its letters beyond ASCII in lower case` }
  const domain = readDomain(foldAscii(email.slice(at + 1)))
  if ('problem' in domain) return domain
  const spellings = [...new Set([domain.ascii, domain.unicode])].map(form => `${local}@${form}`)
  return { canonical: `${local}@${domain.ascii}`, spellings }
}

function readDomain(domain: string): { ascii: string; unicode: string } | UnstableEmail {
  // `domainToASCII` parses a host of a URL, in which further characters of ASCII have a meaning.
  const [odd] = /[^a-z0-9._\-\u0080-\u{10ffff}]/u.exec(domain) ?? []
  if (odd !== undefined)
    return { problem: `found ${odd} in the domain, expected letters, digits, hyphens and dots` }
  if (domain.endsWith('.')) return { problem: `found the domain ${domain}, expected it without the last dot` }
  const ascii = domainToASCII(domain)
  if (ascii === '') return { problem: `found the domain ${domain}, expected a domain name (IDNA, UTS 46)` }
  const unicode = domainToUnicode(ascii)
  // A label that is no Punycode stays as it is.
  if (/(^|\.)xn--/.test(unicode))
    return { problem: `found the domain ${domain}, expected a domain name (IDNA, UTS 46)` }
  const stable = domain === ascii ? ascii : unicode
  if (domain !== stable || domainToASCII(unicode) !== ascii)
    return { problem: `found the domain ${domain}, expected ${stable} (IDNA, UTS 46)` }
  // Mail libraries fold the case of a domain before they convert it, which changes Cherokee letters.
  if (domain !== domain.toLowerCase())
    return { problem: `found the domain ${domain}, expected it in ASCII: ${ascii}` }
  const labels = ascii.split('.')
  if (labels.includes('')) return { problem: `found the domain ${domain}, expected a name between its dots` }
  if (ascii.length > MAX_DOMAIN_LENGTH || labels.some(label => label.length > MAX_LABEL_LENGTH))
    return {
      problem: `found a domain of ${ascii.length} characters in ASCII, expected at most ${MAX_DOMAIN_LENGTH}, and at most ${MAX_LABEL_LENGTH} between its dots`,
    }
  return { ascii, unicode }
}

/** Canonical form of an email address; undefined for one that is not stable. */
export function canonicalEmail(email: string): string | undefined {
  const found = readEmail(email)
  return 'canonical' in found ? found.canonical : undefined
}

/**
 * Canonical form of the address of a new account or invitation, in the field `path`. Throws `Invalid` (409) with the reason for an address that is not stable,
 * since mail to it may reach somebody else than its text says.
 */
export function requireCanonical(email: string, path = 'email'): string {
  const found = readEmail(email)
  if ('canonical' in found) return found.canonical
  throw ruleBroken(path, `This address cannot be used: ${found.problem}.`)
}

/** True for two spellings of one address. An address that is not stable has one spelling only. */
export function isSameEmail(one: string, other: string): boolean {
  if (one === other) return true
  const canonical = canonicalEmail(one)
  return canonical !== undefined && canonical === canonicalEmail(other)
}

/** Letters A to Z in lower case, as `lower(… collate "C")` in PostgreSQL. */
export function foldAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

/**
 * Form that an address would have if Unicode and IDNA changed it freely. It finds accounts whose addresses look alike, and never decides
 * whose account it is.
 */
export function mappedEmail(email: string): string {
  const plain = email.normalize('NFKC').toLowerCase()
  const at = plain.lastIndexOf('@')
  const domain = plain.slice(at + 1).replace(/\.+$/, '')
  const isHost = /^[a-z0-9._\-\u0080-\u{10ffff}]+$/u.test(domain)
  return `${plain.slice(0, at)}@${(isHost && domainToASCII(domain)) || domain}`
}
