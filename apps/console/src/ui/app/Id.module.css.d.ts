declare const styles: {
  readonly middle: string
  readonly text: string
  readonly twoLines: string
  readonly whole: string
  readonly wide: string
}
export default styles
