declare const styles: {
  readonly command: string
  readonly current: string
  readonly done: string
  readonly end: string
  readonly hint: string
  readonly list: string
  readonly number: string
  readonly step: string
  readonly steps: string
}
export default styles
