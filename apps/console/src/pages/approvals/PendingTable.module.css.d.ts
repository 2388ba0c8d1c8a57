declare const styles: {
  readonly certificate: string
  readonly device: string
  readonly fact: string
  readonly facts: string
  readonly fingerprint: string
  readonly group: string
  readonly leaving: string
  readonly note: string
  readonly pick: string
  readonly pickCell: string
  readonly seen: string
  readonly selected: string
  readonly table: string
  readonly view: string
}
export default styles
