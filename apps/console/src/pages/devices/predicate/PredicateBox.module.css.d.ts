declare const styles: {
  readonly box: string
  readonly hint: string
  readonly keyword: string
  readonly message: string
  readonly string: string
  readonly suggestions: string
  readonly text: string
  readonly use: string
  readonly wrong: string
}
export default styles
