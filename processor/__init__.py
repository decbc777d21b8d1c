"""bytes → decode → evolve(state, event) → evaluate(state) → diff(before, after) → publish"""
