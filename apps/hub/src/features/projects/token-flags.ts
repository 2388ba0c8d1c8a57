/** Columns of a deployment token with its flags. */
type FlagColumns = { auto_accept: boolean; own_certificate: boolean }

/** Flags of a deployment token in the form of the API. A flag that older clients do not know is present only where it is on. */
export function tokenFlagsOf({ auto_accept: autoAccept, own_certificate: isOwn }: FlagColumns): {
  autoAccept: boolean
  ownCertificate?: true
} {
  return { autoAccept, ...(isOwn && { ownCertificate: true }) }
}
