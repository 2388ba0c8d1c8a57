declare const styles: {
  readonly bar: string
  readonly count: string
  readonly created: string
  readonly failed: string
  readonly head: string
  readonly name: string
  readonly none: string
  readonly number: string
  readonly onPhones: string
  readonly package: string
  readonly state: string
  readonly table: string
  readonly total: string
  readonly version: string
}
export default styles
