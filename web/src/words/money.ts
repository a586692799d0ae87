/** Costs are small: four digits below a dollar. */
export const dollars = (cost: number): string => `$${cost.toFixed(cost > 0 && cost < 1 ? 4 : 2)}`;
