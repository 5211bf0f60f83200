CREATE TABLE `erased_subscriptions` (
	`subscription_id` text PRIMARY KEY NOT NULL,
	`erased_at_ms` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `customers` ADD `customer_id_lower` text;
--> statement-breakpoint
ALTER TABLE `customers` ADD `friendly_name_lower` text;
--> statement-breakpoint
-- SQLite lowers the letters of ASCII alone: other letters of these rows stay as they are written until the customer changes.
UPDATE customers SET customer_id_lower = LOWER(customer_id), friendly_name_lower = LOWER(friendly_name);
--> statement-breakpoint
CREATE INDEX `customers_by_id_search` ON `customers` (`organization_id`,`customer_id_lower`,`customer_id`);
--> statement-breakpoint
CREATE INDEX `customers_by_name_search` ON `customers` (`organization_id`,`friendly_name_lower`,`customer_id`);
