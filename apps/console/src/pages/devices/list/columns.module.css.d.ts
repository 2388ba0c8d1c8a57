declare const styles: {
  readonly devices: string
  readonly id: string
  readonly last: string
  readonly longest: string
  readonly name: string
  readonly pending: string
  readonly seen: string
  readonly standard: string
  readonly status: string
  readonly update: string
  readonly version: string
  readonly whole: string
  readonly wholeIds: string
  readonly word: string
}
export default styles
