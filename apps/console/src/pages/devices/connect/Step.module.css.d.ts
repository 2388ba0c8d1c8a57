declare const styles: {
  readonly content: string
  readonly number: string
  readonly step: string
}
export default styles
