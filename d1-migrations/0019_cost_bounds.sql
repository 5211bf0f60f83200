CREATE TABLE `customer_cost_bounds` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`weeks` integer NOT NULL,
	`start_ms` integer NOT NULL,
	`cost_at_most` integer NOT NULL,
	`calls_at_most` integer NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `weeks`, `start_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `customer_cost_bounds_by_cost` ON `customer_cost_bounds` (`organization_id`,`weeks`,`start_ms`,`cost_at_most`,`calls_at_most`);--> statement-breakpoint
CREATE TABLE `feature_cost_bounds` (
	`organization_id` text NOT NULL,
	`customer_id` text NOT NULL,
	`weeks` integer NOT NULL,
	`start_ms` integer NOT NULL,
	`cost_at_most` integer NOT NULL,
	`calls_at_most` integer NOT NULL,
	`feature` text NOT NULL,
	PRIMARY KEY(`organization_id`, `customer_id`, `feature`, `weeks`, `start_ms`)
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `feature_cost_bounds_by_cost` ON `feature_cost_bounds` (`organization_id`,`feature`,`weeks`,`start_ms`,`cost_at_most`,`calls_at_most`);