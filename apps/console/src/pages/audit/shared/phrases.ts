import type { Said } from './entry.ts'

/** Name before a deletion, or the object if the event does not record its name. */
export function formerName({ old }: Said, id: string): string {
  return old?.name === undefined ? `{${id}}` : '[old.name]'
}

/** The old and the new name, or only the new one if the event does not record the old name. */
export function renamed({ old }: Said): string {
  return old?.name === undefined ? 'to [name]' : '[old.name] to [name]'
}

/** Words for the client's address. Empty for users who are not administrators of the organization, because the hub omits the address. */
export function from({ address }: Said): string {
  return address === undefined ? '' : ' from [origin.address]'
}

/** Phrase for a new name. After a success the object is shown with its new name, so the phrase does not repeat it after "to". */
export function renaming(noun: string, id: string) {
  return ({ status }: Said): string =>
    status === 'Succeeded' ? `name the ${noun} {${id}:name}` : `rename the ${noun} {${id}} to [name]`
}
