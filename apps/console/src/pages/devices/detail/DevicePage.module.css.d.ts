declare const styles: {
  readonly narrow: string
  readonly pair: string
  readonly sections: string
  readonly wide: string
}
export default styles
